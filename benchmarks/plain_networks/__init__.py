"""Networks in plain PyTorch, written from their papers: nothing is downloaded, nothing but torch is imported."""
