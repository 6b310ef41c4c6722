// Program hello prints a line, with package fmt and nothing of attn.
package main

import "fmt"

func main() { fmt.Println("Hello, world") }
