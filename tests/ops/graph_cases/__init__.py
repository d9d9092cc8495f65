"""Cases of graph operators for test_graph_operators.py, by what brought them: their subject, or the client that asks for them."""
