// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"m0serve.dev/sqlite/internal/engine"
)

// Errors of a BlobHandle.
var (
	// ErrBlobExpired is returned when the row has been changed or deleted by other means since the
	// blob was opened. It stays so: close the blob and open it again.
	ErrBlobExpired = errors.New("sqlite: blob: its row was changed meanwhile; open it again")
	// ErrBlobSize is returned for a write beyond the end: the size of a blob is fixed when its row
	// is written, `zeroblob(?)` makes room.
	ErrBlobSize = errors.New("sqlite: blob: beyond its end, and its size is fixed")
)

// BlobRef names a value: a BLOB or TEXT in a table that has rowids.
type BlobRef struct {
	Schema string // "": main
	Table  string
	Column string // of no index and no foreign key, when it is to be written
	RowID  int64
	Write  bool // takes the write lock until the blob is closed or the transaction ends
}

// BlobHandle is the value of one row, read and written in pieces, so that it need not fit in
// memory. It is an io.ReaderAt, io.WriterAt, io.ReadWriteSeeker and io.Closer, and belongs to the
// goroutine of its connection. A value has at most 1,000,000,000 bytes, SQLite's own limit; the
// file format stops at 2 GiB.
//
// Outside a transaction an open blob holds one: it reads one state of the database, and what was
// written is committed by Close, whose error matters. https://www.sqlite.org/c3ref/blob_open.html
type BlobHandle struct {
	c    *Conn
	ctx  context.Context // ends what comes later too: io's methods take none
	h    *engine.Handle  // nil after Close
	ref  BlobRef
	tx   *Tx   // closes it at its end; nil: opened outside
	pos  int64 // for Read, Write and Seek
	gone bool  // expired
}

// OpenBlob opens a value for reading, or for writing too. ctx is that of every later call. A row
// that does not exist, or holds NULL or a number, is an error of SQLite.
func (c *Conn) OpenBlob(ctx context.Context, ref BlobRef) (*BlobHandle, error) {
	if c.db == nil {
		return nil, ErrClosed
	}
	if ref.Schema == "" {
		ref.Schema = "main"
	}
	if strings.Contains(ref.Schema+ref.Table+ref.Column, "\x00") {
		return nil, fmt.Errorf("sqlite: blob: NUL in a name of %+v", ref)
	}
	if err := c.call.enter(ctx); err != nil {
		return nil, wrapEnd("blob", err)
	}
	switch {
	case c.tx != nil && c.tx.open() != nil:
		return nil, c.tx.open()
	case ref.Write && (c.reader || c.tx != nil && c.tx.reads):
		return nil, fmt.Errorf("sqlite: blob: opened for writing inside Read, or on a reader")
	}
	h, rc := c.db.OpenBlob(ref.Schema, ref.Table, ref.Column, ref.RowID, ref.Write)
	if rc != engine.OK {
		return nil, c.fail("blob", "", rc)
	}
	b := &BlobHandle{c: c, ctx: ctx, h: h, ref: ref, tx: c.tx}
	if c.blobs == nil {
		c.blobs = make(map[*BlobHandle]struct{})
	}
	c.blobs[b] = struct{}{}
	return b, nil
}

// OpenBlob is Conn.OpenBlob inside the transaction, whose end closes it.
func (t *Tx) OpenBlob(ctx context.Context, ref BlobRef) (*BlobHandle, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	return t.c.OpenBlob(ctx, ref)
}

// Size is the number of bytes.
func (b *BlobHandle) Size() int64 {
	if b.h == nil {
		return 0
	}
	return int64(b.h.Size())
}

// ReadAt implements io.ReaderAt.
func (b *BlobHandle) ReadAt(p []byte, off int64) (int, error) {
	if err := b.enter(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, fmt.Errorf("sqlite: blob: read at %d", off)
	}
	left := max(b.Size()-off, 0)
	part := p[:min(int64(len(p)), left)]
	n, rc := b.h.ReadAt(part, int(off))
	if rc != engine.OK {
		return n, b.fail(rc)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt. Nothing is written when p does not fit.
func (b *BlobHandle) WriteAt(p []byte, off int64) (int, error) {
	if err := b.enter(); err != nil {
		return 0, err
	}
	switch {
	case !b.ref.Write:
		return 0, errors.New("sqlite: blob: opened for reading; set BlobRef.Write")
	case off < 0:
		return 0, fmt.Errorf("sqlite: blob: write at %d", off)
	case off > b.Size() || int64(len(p)) > b.Size()-off:
		return 0, fmt.Errorf("%w: %d bytes at %d of %d", ErrBlobSize, len(p), off, b.Size())
	}
	n, rc := b.h.WriteAt(p, int(off))
	if rc != engine.OK {
		return n, b.fail(rc)
	}
	return n, nil
}

// Read implements io.Reader.
func (b *BlobHandle) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.ReadAt(p, b.pos)
	b.pos += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Write implements io.Writer.
func (b *BlobHandle) Write(p []byte) (int, error) {
	n, err := b.WriteAt(p, b.pos)
	b.pos += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (b *BlobHandle) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += b.pos
	case io.SeekEnd:
		offset += b.Size()
	default:
		return 0, fmt.Errorf("sqlite: blob: seek: whence %d", whence)
	}
	if offset < 0 {
		return 0, fmt.Errorf("sqlite: blob: seek: to %d", offset)
	}
	b.pos = offset
	return offset, nil
}

// Reopen moves to the same column of another row, from its beginning: cheaper than opening anew.
// When it fails the blob has expired.
func (b *BlobHandle) Reopen(rowid int64) error {
	if err := b.enter(); err != nil {
		return err
	}
	b.pos = 0
	if rc := b.h.Reopen(rowid); rc != engine.OK {
		return b.fail(rc)
	}
	b.ref.RowID = rowid
	return nil
}

// Close ends the blob. Outside a transaction it commits what was written. A second Close does
// nothing.
func (b *BlobHandle) Close() error {
	if b.h == nil {
		return nil
	}
	delete(b.c.blobs, b)
	b.c.call.shield()
	rc := b.h.Close()
	b.h = nil
	b.c.settle()
	if rc != engine.OK && rc != engine.Abort && !b.gone { // the answer repeats an earlier error
		return b.c.fail("blob", "", rc)
	}
	return nil
}

// enter begins a call.
func (b *BlobHandle) enter() error {
	switch {
	case b.h == nil:
		return ErrClosed
	case b.gone:
		return ErrBlobExpired
	}
	if err := b.c.call.enter(b.ctx); err != nil {
		return wrapEnd("blob", err)
	}
	return nil
}

// fail makes the error of an answer.
func (b *BlobHandle) fail(rc int32) error {
	if rc&0xff == engine.Abort {
		b.gone = true
		return ErrBlobExpired
	}
	return b.c.fail("blob", "", rc)
}

// closeBlobs closes those that tx opened, or all.
func (c *Conn) closeBlobs(tx *Tx) error {
	var errs []error
	for b := range c.blobs {
		if tx == nil || b.tx == tx {
			errs = append(errs, b.Close())
		}
	}
	return errors.Join(errs...)
}
