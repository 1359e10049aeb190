"""How items of FormalImg are written: words and a formula together, proven before anyone is asked about them."""
