// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// SignalsMax is the most bytes that ReadSignals takes.
const SignalsMax = 1 << 20

// A SignalsError says why the signals of a request cannot be used. Status is
// what to answer: 400, or 413 for more than SignalsMax bytes.
type SignalsError struct {
	Status int
	cause  error
}

// Error implements error.
func (e *SignalsError) Error() string { return fmt.Sprintf("datastar: signals: %v", e.cause) }

// Unwrap gives the cause, such as a *json.SyntaxError.
func (e *SignalsError) Unwrap() error { return e.cause }

// ReadSignals decodes the page's signals into v: from the query of a GET, HEAD
// or DELETE, from the body of anything else (POST, PUT, PATCH, QUERY). A
// request without signals leaves v as it is. Call it before the response
// begins. An error is a *SignalsError, or comes from reading the body.
func ReadSignals(r *http.Request, v any) error {
	doc, err := signalsOf(r)
	if err != nil || len(doc) == 0 {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	if err := dec.Decode(v); err != nil {
		return &SignalsError{Status: http.StatusBadRequest, cause: err}
	}
	if _, err := dec.Token(); err != io.EOF {
		return &SignalsError{http.StatusBadRequest, errors.New("something stands behind the object")}
	}
	return nil
}

// signalsOf is the JSON text that the request carries, nil for none.
func signalsOf(r *http.Request) ([]byte, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		doc := r.URL.Query().Get("datastar")
		if len(doc) > SignalsMax {
			return nil, tooLarge()
		}
		return []byte(doc), nil
	}
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > SignalsMax {
		return nil, tooLarge()
	}
	doc, err := io.ReadAll(io.LimitReader(r.Body, SignalsMax+1))
	var tooMany *http.MaxBytesError
	switch {
	case errors.As(err, &tooMany) || err == nil && len(doc) > SignalsMax:
		return nil, tooLarge()
	case err != nil:
		return nil, fmt.Errorf("datastar: signals: %w", err)
	}
	return bytes.TrimSpace(doc), nil
}

func tooLarge() error {
	return &SignalsError{http.StatusRequestEntityTooLarge,
		fmt.Errorf("more than %d bytes", SignalsMax)}
}
