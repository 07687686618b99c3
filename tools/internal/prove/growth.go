// SPDX-License-Identifier: MIT

package prove

import (
	"errors"
	"fmt"
)

// A Sample is what a server held after so many requests.
type Sample struct {
	Requests int
	Bytes    float64 // resident
	Files    int     // descriptors
	Objects  float64 // that the interpreter has
}

// Bounds of growth. A leak of one small object a request is 16 bytes and more;
// what is less is the allocator's.
const (
	growthBytes = 8   // of resident memory, a request
	growthLeast = 2e6 // of resident memory in all: less is noise, in a short run
	growthFiles = 4   // from the first to the last sample
	// Of objects, too, a request: one of six kinds of requests that leaves one is seen.
	growthObjects = 0.05
	objectsLeast  = 200 // what a collection more or less leaves
	sampleLeast   = 6
)

// Growth judges the samples of a long run by the second half of them, when caches
// are full: the slopes of straight lines through memory and through objects, and
// descriptors.
func Growth(samples []Sample) (said string, err error) {
	if len(samples) < sampleLeast {
		return "", fmt.Errorf("prove: %d samples say nothing about growth", len(samples))
	}
	half := samples[len(samples)/2:]
	slope := slopeOf(half, func(s Sample) float64 { return s.Bytes })
	objects := slopeOf(half, func(s Sample) float64 { return s.Objects })
	first, last := half[0], half[len(half)-1]
	said = fmt.Sprintf("%d requests, resident %.1f MB at half and %.1f MB at the end, "+
		"%+.2f bytes a request, %d and %d descriptors, %.0f and %.0f objects", last.Requests,
		first.Bytes/1e6, last.Bytes/1e6, slope, first.Files, last.Files, first.Objects, last.Objects)
	var wrong []error
	if slope > growthBytes && slope*float64(last.Requests-first.Requests) > growthLeast {
		wrong = append(wrong, fmt.Errorf("prove: memory grows by %.1f bytes a request, above %d",
			slope, growthBytes))
	}
	if objects > growthObjects && last.Objects > first.Objects+objectsLeast {
		wrong = append(wrong, fmt.Errorf("prove: objects grow by %.2f a request, above %g", objects,
			growthObjects))
	}
	if last.Files > first.Files+growthFiles {
		wrong = append(wrong, fmt.Errorf("prove: descriptors grow from %d to %d",
			first.Files, last.Files))
	}
	return said, errors.Join(wrong...)
}

// slopeOf fits what is read of each sample over requests by least squares.
func slopeOf(samples []Sample, read func(Sample) float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, s := range samples {
		x, y := float64(s.Requests), read(s)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if d := n*sxx - sx*sx; d != 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}
