// SPDX-License-Identifier: MIT

package wheel

import (
	"debug/elf"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// machines are Python's names for processors.
var machines = map[elf.Machine]string{
	elf.EM_X86_64:  "x86_64",
	elf.EM_AARCH64: "aarch64",
	elf.EM_386:     "i686",
	elf.EM_ARM:     "armv7l",
	elf.EM_RISCV:   "riscv64",
	elf.EM_PPC64:   "ppc64le",
	elf.EM_S390:    "s390x",
}

// everywhere are the libraries that every system with glibc has; PEP 600 lets a
// wheel depend on them alone.
var everywhere = []string{"libc.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6",
	"libresolv.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-linux.so.2",
	"ld-linux-armhf.so.3", "ld-linux-riscv64-lp64d.so.1", "ld64.so.2", "ld64.so.1"}

// glibcMin is the oldest glibc 2 that is promised, whatever the files need:
// manylinux2014 is where today's installers begin.
const glibcMin = 17

// A Platform is where compiled files run.
type Platform struct {
	Tag     string // manylinux_2_34_x86_64, or linux_x86_64 where nothing can be promised
	Because string // the symbol or the library that decided
}

// PlatformOf reads what the ELF files ask of a system. The newest version of glibc
// that any of them names is what the system must have.
func PlatformOf(files ...string) (Platform, error) {
	var n needs
	for _, file := range files {
		if err := n.read(file); err != nil {
			return Platform{}, fmt.Errorf("wheel: %s: %w", file, err)
		}
	}
	return n.platform(), nil
}

// needs is what the files read so far ask for.
type needs struct {
	machine string
	glibc   int    // minor version of glibc 2
	symbol  string // which asks for it
	foreign string // a library, or a part of one, that not every system has
}

func (n *needs) read(file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	machine := machines[f.Machine]
	if machine == "" {
		return fmt.Errorf("no Python runs on %v", f.Machine)
	}
	if n.machine != "" && n.machine != machine {
		return fmt.Errorf("it is for %s, the others are for %s", machine, n.machine)
	}
	n.machine = machine
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range libraries {
		if !slices.Contains(everywhere, library) {
			n.foreign = library
		}
	}
	if f.SectionByType(elf.SHT_GNU_VERNEED) == nil {
		return nil // it is static, or asks for no version
	}
	versions, err := f.DynamicVersionNeeds()
	if err != nil {
		return err
	}
	symbols, _ := f.DynamicSymbols() // only for a name to show
	for _, library := range versions {
		for _, need := range library.Needs {
			n.version(need.Dep, symbols)
		}
	}
	return nil
}

// version takes note of a version that a file asks for, such as GLIBC_2.34.
func (n *needs) version(version string, symbols []elf.Symbol) {
	minor := 0
	switch version {
	case "GLIBC_PRIVATE":
		n.foreign = version
	case "GLIBC_ABI_DT_RELR": // packed relocations, which the loader of 2.36 understands
		minor = 36
	default:
		numbers, _ := strings.CutPrefix(version, "GLIBC_2.")
		numbers, _, _ = strings.Cut(numbers, ".")
		minor, _ = strconv.Atoi(numbers) // another library's version is none of glibc
	}
	if minor <= n.glibc {
		return
	}
	n.glibc, n.symbol = minor, version
	for _, s := range symbols {
		if s.Version == version {
			n.symbol = s.Name + "@" + version
			return
		}
	}
}

func (n *needs) platform() Platform {
	switch {
	case n.foreign != "":
		return Platform{"linux_" + n.machine, "it needs " + n.foreign + ", which not every system has"}
	case n.glibc <= glibcMin:
		return Platform{fmt.Sprintf("manylinux_2_%d_%s", glibcMin, n.machine),
			"it needs no newer glibc"}
	}
	return Platform{fmt.Sprintf("manylinux_2_%d_%s", n.glibc, n.machine), "it needs " + n.symbol}
}
