package chattemplate

import (
	"context"
	"errors"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/jinja"
)

// The kinds of a [kernel.Error] about a template and its messages. Where is the line of the
// template, counted from 1. An error about a variable or a date is a [kernel.ErrArgument].
var (
	ErrSyntax, // the template is not Jinja, or uses a part of the language that this package does not have
	ErrRender, // it does with the messages what does not work, such as adding a string to a number, or what takes too much work
	ErrRefused = kinds() // it refuses the messages, such as two of the user in a row: Got is what it says, and Where "messages"
)

func kinds() (syntax, render, refused error) {
	return jinja.ErrSyntax, jinja.ErrRender, jinja.ErrRefused
}

// failed returns an error of package jinja as this package's error.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if bad, ok := errors.AsType[*kernel.Error](err); ok {
		return &kernel.Error{Where: "chattemplate: " + bad.Where, Got: bad.Got, Want: bad.Want, Kind: bad.Kind}
	}
	return err
}

// badVariable reports a variable, or a field of messages, that is none.
func badVariable(name, got, want string) error {
	return &kernel.Error{Where: "chattemplate: " + name, Got: got, Want: want}
}

// types are the types of variables.
const types = "nil, bool, int, float64, string or JSON"

// anotherName is what a variable should have whose name every conversation uses.
const anotherName = "another name"
