"""Drawing that papers and single runs share."""
