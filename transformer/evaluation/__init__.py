"""How good translations are: metrics, analysis, reports, the challenge set, the self-test."""
