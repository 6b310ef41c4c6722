"""A second implementation of the numeric contract, written from its text alone: complete and slow.

Each module has the functions of one file of vectors by name, in the dictionary FUNCTIONS. A function takes
the arguments of a vector by name and returns its results by name.
"""
