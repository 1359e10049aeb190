"""Writing CF-World: groups from laws, questions, outcomes without names, rare pairs; and the review by people."""
