"""Source ids in, hypotheses out: greedy and beam search, and the engines that compute for them."""
