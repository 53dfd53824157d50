"""Files that travel with exported posteriors: their reader, and what describes them."""
