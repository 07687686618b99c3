// SPDX-License-Identifier: MIT

// Package pgsite holds the black-box suite of m0serve --pg-listen. The application is
// streams.py beside it, which knows nothing of PostgreSQL, or site_django.py, a Django
// project that does. The tests start it behind the real server, beside a real
// PostgreSQL. There is no Go code here but tests.
package pgsite
