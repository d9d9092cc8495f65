"""PyTorch's own operator, module and optimizer databases, npu against cpu. `python -m tests.clients.opinfo.run --help`"""
