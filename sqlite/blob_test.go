// SPDX-License-Identifier: MIT

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

var _ interface {
	io.ReaderAt
	io.WriterAt
	io.ReadWriteSeeker
	io.Closer
} = (*BlobHandle)(nil)

// blobTable opens a file with one blob of n bytes in row 1.
func blobTable(t testing.TB, n int) *Conn {
	t.Helper()
	c := open(t, tempFile(t), Options{})
	mustExec(t, c, "CREATE TABLE b(id INTEGER PRIMARY KEY, v, n)")
	mustExec(t, c, "INSERT INTO b(id, v) VALUES(1, zeroblob(?))", n)
	return c
}

func openBlob(t testing.TB, c *Conn, rowid int64, write bool) *BlobHandle {
	t.Helper()
	b, err := c.OpenBlob(context.Background(),
		BlobRef{Table: "b", Column: "v", RowID: rowid, Write: write})
	if err != nil {
		t.Fatalf("OpenBlob of row %d: %v", rowid, err)
	}
	return b
}

func closeBlob(t testing.TB, b io.Closer) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Errorf("Close of a blob: %v", err)
	}
}

// TestBlobStreams writes and reads more than passes between the two memories at once, in pieces of
// all sizes.
func TestBlobStreams(t *testing.T) {
	const size = 300_001
	c := blobTable(t, size)
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	b := openBlob(t, c, 1, true)
	n, err := io.Copy(b, iotest.OneByteReader(bytes.NewReader(data[:1000])))
	if n != 1000 || err != nil {
		t.Fatalf("io.Copy of single bytes: %d, %v; want 1000", n, err)
	}
	if n, err := b.Write(data[1000:]); n != size-1000 || err != nil {
		t.Fatalf("Write: %d, %v; want all", n, err)
	}
	closeBlob(t, b)
	if got := mustOne[[]byte](t, c, "SELECT v FROM b"); !bytes.Equal(got, data) {
		t.Error("the row does not hold what was written")
	}
	b = openBlob(t, c, 1, false)
	if got, err := io.ReadAll(b); !bytes.Equal(got, data) || err != nil {
		t.Errorf("io.ReadAll gave %d bytes, %v; want those that were written", len(got), err)
	}
	if n := b.Size(); n != size {
		t.Errorf("Size: %d, want %d", n, size)
	}
	closeBlob(t, b)
	mustExec(t, c, "INSERT INTO b(id, v) VALUES(2, ?)", data[:5000]) // more than a page
	b = openBlob(t, c, 2, false)
	defer closeBlob(t, b)
	if err := iotest.TestReader(b, data[:5000]); err != nil {
		t.Error(err)
	}
}

// TestBlobEdges are the calls at and beyond the ends of a blob.
func TestBlobEdges(t *testing.T) {
	c := blobTable(t, 10)
	b := openBlob(t, c, 1, true)
	defer closeBlob(t, b)
	for _, call := range []struct {
		off  int64
		n    int
		size bool // ErrBlobSize
		bad  bool // another error
	}{{0, 10, false, false}, {10, 0, false, false}, {9, 2, true, false}, {11, 0, true, false},
		{1 << 40, 1, true, false}, {-1, 1, false, true}} {
		n, err := b.WriteAt(make([]byte, call.n), call.off)
		if errors.Is(err, ErrBlobSize) != call.size || (err != nil) != (call.size || call.bad) {
			t.Errorf("WriteAt(%d bytes, %d): %v", call.n, call.off, err)
		}
		if err != nil && n != 0 {
			t.Errorf("WriteAt(%d bytes, %d) wrote %d of them", call.n, call.off, n)
		}
	}
	for _, call := range []struct {
		off  int64
		n    int
		want int
		err  error
	}{{0, 10, 10, nil}, {4, 10, 6, io.EOF}, {10, 1, 0, io.EOF}, {1 << 40, 1, 0, io.EOF}} {
		n, err := b.ReadAt(make([]byte, call.n), call.off)
		if n != call.want || err != call.err {
			t.Errorf("ReadAt(%d bytes, %d): %d, %v; want %d, %v",
				call.n, call.off, n, err, call.want, call.err)
		}
	}
	if _, err := b.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
		t.Errorf("ReadAt(-1): %v, want an error", err)
	}
	if _, err := b.Seek(-11, io.SeekEnd); err == nil {
		t.Error("Seek before the beginning: no error")
	}
}

// TestBlobExpires: a row that is changed otherwise ends the blob, with an error of its own.
func TestBlobExpires(t *testing.T) {
	c := blobTable(t, 10)
	mustExec(t, c, "INSERT INTO b(id, v) VALUES(2, 'two')")
	b := openBlob(t, c, 1, false)
	mustExec(t, c, "UPDATE b SET n = 1 WHERE id = 2") // another row
	if err := b.Reopen(2); err != nil {
		t.Fatalf("Reopen(2): %v", err)
	}
	if got, err := io.ReadAll(b); string(got) != "two" || err != nil {
		t.Errorf("read after Reopen: %q, %v; want two", got, err)
	}
	mustExec(t, c, "UPDATE b SET n = 1 WHERE id = 2") // this row, another column
	for range 2 {
		if _, err := b.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrBlobExpired) {
			t.Errorf("ReadAt after the row was changed: %v, want ErrBlobExpired", err)
		}
	}
	if err := b.Reopen(1); !errors.Is(err, ErrBlobExpired) {
		t.Errorf("Reopen of an expired blob: %v, want ErrBlobExpired", err)
	}
	closeBlob(t, b)
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("Read after Close: %v, want ErrClosed", err)
	}
	closeBlob(t, b)
	b = openBlob(t, c, 1, false)
	if err := b.Reopen(99); err == nil || b.Reopen(1) == nil {
		t.Errorf("Reopen of a row that is not there: %v, want an error that lasts", err)
	}
	closeBlob(t, b)
}

// TestBlobRefuses is what cannot be opened, and why.
func TestBlobRefuses(t *testing.T) {
	ctx := context.Background()
	c := blobTable(t, 10)
	mustScript(t, c, `CREATE INDEX b_n ON b(n); INSERT INTO b VALUES(2, NULL, 3);
		CREATE TABLE w(k PRIMARY KEY, v) WITHOUT ROWID`)
	for _, x := range []struct {
		ref  BlobRef
		want string
	}{
		{BlobRef{Table: "b", Column: "v", RowID: 9}, "no such rowid: 9"},
		{BlobRef{Table: "b", Column: "v", RowID: 2}, "null"},
		{BlobRef{Table: "b", Column: "nope", RowID: 1}, "no such column"},
		{BlobRef{Table: "nope", Column: "v", RowID: 1}, "no such table"},
		{BlobRef{Table: "w", Column: "v"}, "without rowid"},
		{BlobRef{Table: "b", Column: "n", RowID: 2, Write: true}, "indexed"},
		{BlobRef{Table: "b\x00", Column: "n"}, "NUL"},
	} {
		_, err := c.OpenBlob(ctx, x.ref)
		wantText(t, "OpenBlob", err, x.want)
	}
	b := openBlob(t, c, 1, false)
	_, err := b.Write([]byte("x"))
	wantText(t, "Write to a blob for reading", err, "BlobRef.Write")
	closeBlob(t, b)
	err = c.Read(ctx, func(tx *Tx) error {
		_, err := tx.OpenBlob(ctx, BlobRef{Table: "b", Column: "v", RowID: 1, Write: true})
		return err
	})
	wantText(t, "a blob to write inside Read", err, "inside Read")
	_, err = c.Exec(ctx, "INSERT INTO b(v) VALUES(zeroblob(1000000001))")
	if CodeOf(err) != TooBig {
		t.Errorf("a blob above the limit: %v, want TooBig", err)
	}
}

// TestBlobAndTx: the end of a transaction closes the blobs that were opened in it; a commit would
// wait for them otherwise.
func TestBlobAndTx(t *testing.T) {
	ctx := context.Background()
	c := blobTable(t, 3)
	ref := BlobRef{Table: "b", Column: "v", RowID: 1, Write: true}
	var left *BlobHandle
	err := c.Write(ctx, func(tx *Tx) (err error) {
		if left, err = tx.OpenBlob(ctx, ref); err != nil {
			return err
		}
		_, err = left.Write([]byte("abc"))
		return err
	})
	if err != nil {
		t.Fatalf("Write with a blob left open: %v", err)
	}
	if _, err := left.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("ReadAt after the commit: %v, want ErrClosed", err)
	}
	_ = c.Write(ctx, func(tx *Tx) error {
		b, err := tx.OpenBlob(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = b.Write([]byte("xyz"))
		return errors.New("no")
	})
	if got := mustOne[string](t, c, "SELECT CAST(v AS TEXT) FROM b"); got != "abc" {
		t.Errorf("after a rollback the row holds %q, want abc", got)
	}
}

// TestBlobContext: the context of OpenBlob ends what comes later.
func TestBlobContext(t *testing.T) {
	c := blobTable(t, 3)
	ctx, cancel := context.WithCancel(context.Background())
	b, err := c.OpenBlob(ctx, BlobRef{Table: "b", Column: "v", RowID: 1})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Read after its context ended: %v, want context.Canceled", err)
	}
	closeBlob(t, b)
	if _, err := c.OpenBlob(ctx, BlobRef{Table: "b", Column: "v", RowID: 1}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("OpenBlob with an ended context: %v, want context.Canceled", err)
	}
}

// TestPoolClosesBlobs: a blob that a borrower leaves open holds no lock afterwards.
func TestPoolClosesBlobs(t *testing.T) {
	ctx := context.Background()
	p := openPool(t, tempFile(t), PoolOptions{})
	mustExec(t, p, "CREATE TABLE b(v)")
	mustExec(t, p, "INSERT INTO b VALUES(zeroblob(3))")
	err := p.WithWriter(ctx, func(c *Conn) error {
		_, err := c.OpenBlob(ctx, BlobRef{Table: "b", Column: "v", RowID: 1, Write: true})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	other := open(t, p.path, Options{Busy: -1})
	mustExec(t, other, "INSERT INTO b VALUES(1)")
	err = p.WithReader(ctx, func(c *Conn) error {
		_, err := c.OpenBlob(ctx, BlobRef{Table: "b", Column: "v", RowID: 1, Write: true})
		return err
	})
	wantText(t, "a blob to write on a reader", err, "on a reader")
}

// FuzzBlob does to a blob what it does to a slice.
func FuzzBlob(f *testing.F) {
	f.Add(int64(3), []byte("abc"), int64(0), 5)
	f.Add(int64(99_999), []byte("ab"), int64(99_997), 70_000)
	c := blobTable(f, 100_000)
	b := openBlob(f, c, 1, true)
	f.Cleanup(func() { closeBlob(f, b) })
	model := make([]byte, 100_000)
	f.Fuzz(func(t *testing.T, at int64, p []byte, from int64, n int) {
		if _, err := b.WriteAt(p, at); err == nil {
			copy(model[at:], p)
		}
		got := make([]byte, min(max(n, 0), 200_000))
		k, err := b.ReadAt(got, from)
		if from < 0 {
			if err == nil {
				t.Errorf("ReadAt(%d): no error", from)
			}
			return
		}
		want := model[min(from, int64(len(model))):]
		want = want[:min(len(got), len(want))]
		if !bytes.Equal(got[:k], want) || (k < len(got)) != (err == io.EOF) {
			t.Errorf("ReadAt(%d bytes, %d): %d bytes, %v; want %d", len(got), from, k, err, len(want))
		}
	})
}
