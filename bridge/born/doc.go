// Package born lets models of the framework Born (github.com/born-ml/born) compute with the
// kernels of attn. It has two parts, which work together or alone:
//
//   - [Attention] and [SDPA] are values for the option WithAttentionFunc of Born's package
//     models/llama: attention by kernel.Attention.
//   - [Backend] is a backend for Born's tensors: its CPU backend, but a product with the
//     weights of a layer that was packed before is computed by a linear.Linear.
//
// A model that uses both:
//
//	backend := born.NewBackend(kernel.Exec{})
//	attention := born.Attention[*born.Backend](kernel.Exec{})
//	model, err := llama.LoadGGUF(path, backend, llama.WithAttentionFunc(attention))
//	...
//	err = backend.PackLlama(model)
//
// Born's functions for tensors return no errors: they panic if shapes do not fit. So do
// the functions of this package that Born calls, with the error of package kernel or
// linear as the value.
package born
