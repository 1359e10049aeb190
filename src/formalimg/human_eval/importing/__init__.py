"""Import: answers and ratings that were made elsewhere become runs and studies, without images."""
