// SPDX-License-Identifier: MIT
#ifndef M0_MEMORY_H
#define M0_MEMORY_H

// m0_let_go_of_start gives back the pages of the engine's own file that only its start needed.
void m0_let_go_of_start(void);

#endif
