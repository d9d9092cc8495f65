"""`updraft check REFERENCE… RUN`: what must be so before anybody looks for a wrong operator, over recorded runs.

runs.py     what `updraft run --record` left, as one object for each run
lines.py    the lines of the list about the training: each a function of the runs that gives PASS, FAIL or NOT KNOWN with the evidence
data.py     the lines about files, batches and their order
result.py   a line's result; comparing rows of numbers
page.py     the list on a terminal, as JSON and as an HTML page
command.py  the command
"""
