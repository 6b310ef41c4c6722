// This file lets the compiler accept functions without a body, see hook.go.
