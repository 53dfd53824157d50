"""Pages of HTML that need nothing from elsewhere: what they share, and the page of runs."""
