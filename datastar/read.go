// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// SignalsMax is the most bytes that ReadSignals takes.
const SignalsMax = 1 << 20

// A SignalsError says why the signals of a request cannot be used.
type SignalsError struct {
	Status int // what to answer: 400, or 413 for too many bytes
	cause  error
}

// Error implements error.
func (e *SignalsError) Error() string { return fmt.Sprintf("datastar: signals: %v", e.cause) }

// Unwrap gives the cause, such as a *json.SyntaxError or what the body's reader
// said.
func (e *SignalsError) Unwrap() error { return e.cause }

// ReadSignals decodes the page's signals into v, as json.Unmarshal does: from
// the query parameter "datastar" of a GET, HEAD or DELETE, from the body of
// anything else (POST, PUT, PATCH, QUERY). A request without the parameter, or
// with an empty body, leaves v as it is. Call it before the response begins.
// An error is a *SignalsError.
func ReadSignals(r *http.Request, v any) error { return ReadSignalsUpTo(r, v, SignalsMax) }

// ReadSignalsUpTo is ReadSignals with another limit in bytes, for a page that
// sends files along.
func ReadSignalsUpTo(r *http.Request, v any, max int64) error {
	doc, err := signalsOf(r, max)
	if err != nil || doc == nil {
		return err
	}
	if err := json.Unmarshal(doc, v); err != nil {
		return &SignalsError{http.StatusBadRequest, err}
	}
	return nil
}

// signalsOf is the JSON text that the request carries, nil for none.
func signalsOf(r *http.Request, max int64) ([]byte, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete, "":
		return signalsOfQuery(r.URL.RawQuery, max)
	}
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > max { // only for speed
		return nil, tooLarge(max)
	}
	doc, err := io.ReadAll(io.LimitReader(r.Body, max+1))
	var tooMany *http.MaxBytesError
	switch {
	case errors.As(err, &tooMany):
		return nil, tooLarge(tooMany.Limit)
	case err != nil:
		return nil, &SignalsError{http.StatusBadRequest, err}
	case int64(len(doc)) > max:
		return nil, tooLarge(max)
	case len(bytes.TrimSpace(doc)) == 0:
		return nil, nil
	}
	return doc, nil
}

// signalsOfQuery refuses a query that cannot be parsed only when the signals
// are not among what could be.
func signalsOfQuery(raw string, max int64) ([]byte, error) {
	query, err := url.ParseQuery(raw)
	if !query.Has("datastar") {
		if err != nil {
			return nil, &SignalsError{http.StatusBadRequest, err}
		}
		return nil, nil
	}
	doc := query.Get("datastar")
	if int64(len(doc)) > max {
		return nil, tooLarge(max)
	}
	return []byte(doc), nil
}

func tooLarge(max int64) error {
	return &SignalsError{
		http.StatusRequestEntityTooLarge, fmt.Errorf("more than %d bytes", max),
	}
}
