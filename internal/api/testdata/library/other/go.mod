module other
