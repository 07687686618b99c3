// SPDX-License-Identifier: MIT

// Package hash holds the non-cryptographic hashes the other modules share:
// FNV-1a (32 and 64 bits), xxHash32, xxHash64 and wyhash final version 4.3.
//
// Every hash has a whole-buffer function (FNV32a, XXH64, Wy, …) and a
// streaming form (NewXXH32, NewWy, …) that implements hash.Hash32 or
// hash.Hash64 and gives the same value however the input was cut. Input may
// start at any address. Values are the same on every architecture.
//
// The whole-buffer functions do not allocate; a streaming state is one
// allocation and Write, Sum32 and Sum64 add none. A state has one owner.
//
// None of these resists an attacker who can choose inputs and see collisions:
// do not authenticate with them, and key tables of untrusted input with
// hash/maphash.
package hash
