"""What only a framework itself can read: live modules, TorchScript, pickles, folders of a config, Keras' own classes.

Nothing here is imported by `import latpred`; each module imports its framework when it is used. Files are read in a
child process (child.py) that holds exactly one framework, live objects in the caller's own process.
"""
