// SPDX-License-Identifier: MIT
//go:build linux

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

// let_go tells the kernel that the pages of a file which nobody writes to are not needed now.
// What is needed again comes back from the page cache, 64 KB at a time.
static int let_go(struct dl_phdr_info *object, size_t size, void *unused)
{
	(void)size, (void)unused;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), here = (uintptr_t)let_go;
	int is_ours = 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + part->p_vaddr;
		is_ours |= part->p_type == PT_LOAD && from <= here && here < from + part->p_memsz;
	}
	for (int i = 0; is_ours && i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		if (part->p_type != PT_LOAD || part->p_flags & PF_W)
			continue;
		uintptr_t from = (object->dlpi_addr + part->p_vaddr + page - 1) & -page;
		uintptr_t to = (object->dlpi_addr + part->p_vaddr + part->p_memsz) & -page;
		if (from < to)
			madvise((void *)from, to - from, MADV_DONTNEED);
	}
	return is_ours; // the end of the search
}

// m0_let_go_of_start gives back what only the start needs of the engine's file: a megabyte of
// relocations, the tables that Go's runtime checks, the code of everything that is set up once.
void m0_let_go_of_start(void)
{
	dl_iterate_phdr(let_go, NULL);
}
