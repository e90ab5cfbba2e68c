//! TC RAN function: the six-stage traffic-control pipeline of a bearer.
