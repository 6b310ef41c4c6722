package arch

// Experts are feed-forward networks of which a router chooses some for each token. A linear layer
// gives each expert a score, and the scores become shares: their softmax, or with Sigmoid the
// logistic function of each. The output is the sum of the chosen experts' outputs, each times its
// share.
type Experts struct {
	Dense             // of each expert
	Count, Used int   // of a token
	RouterBias  bool  // the layer of the scores has a bias
	Sigmoid     bool  // not a softmax
	Correction  bool  // a number for each expert is added to its share for the choice alone; with Sigmoid
	Groups      Group // of experts; with Correction

	Shares bool    // shares of the chosen experts are divided by their sum,
	Least  float64 // to which this is added
	Scale  float64 // multiplies shares, if not 0
	Added  bool    // a vector is added to the sum
	Latent int     // width of a projection that the experts read and write, in place of the states; 0: they have none

	Shared     int  // the width of a further network, which every token takes; 0 for none
	SharedGate bool // a linear layer has one output: its logistic function multiplies the output of that network

	Limit, Alpha float64 // if not 0, the experts compute (clamp(up) + 1)·g·logistic(Alpha·g), with g = min(gate, Limit) and clamp to ±Limit
}

// A Group says that experts are in Count groups of neighbours, and that a token chooses from Used
// of them: from those with the largest sums of their two largest corrected shares. With Count 0 all
// are in one group.
type Group struct{ Count, Used int }

func (*Experts) feed() {}

// A Twofold is a dense network and experts beside it, which read the same states by norms of their
// own and whose outputs, each after a norm, are added. The router reads states by a norm too, and a
// number of each expert multiplies its share.
type Twofold struct {
	Dense   Dense
	Experts Experts
}

func (*Twofold) feed() {}
