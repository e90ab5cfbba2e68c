/* What the files of the adapter share. One gNB per process, as in OAI. */
#ifndef SOJOURN_OAI_ADAPTER_H
#define SOJOURN_OAI_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "sojourn_gnb.h"

/* An OAI function that the linker lets us stand in front of. The name means our function, by the
   linker's --wrap; REAL means OAI's, which is null if OAI has none of that name. */
#define REAL(name) __real_##name
#define WRAP(name) __wrap_##name
#define WRAPPED(name)                                        \
  extern __typeof__(name) REAL(name) __attribute__((weak)); \
  __typeof__(name) WRAP(name)

#define HAS_SHAPE(name, ...) \
  __builtin_types_compatible_p(__typeof__(name), __typeof__(__VA_ARGS__))
/* Fails the build, in words, if a function of OAI, or a member of a structure, has another shape than
   the adapter is written for. `make oai-check` reads these lines. */
#define SHAPE(name, ...)                         \
  _Static_assert(HAS_SHAPE(name, __VA_ARGS__), \
                 "another OAI generation: " #name " has other arguments")
#define MEMBER(structure, name, ...)                                         \
  _Static_assert(HAS_SHAPE(((structure*)0)->name, __VA_ARGS__), \
                 "another OAI generation: " #structure " has another " #name)
/* The same for what differs between generations: says which one fits if it is not this one. */
#define SHAPE_UNLESS(name, shape, other_shape, sentence)                   \
  _Static_assert(!HAS_SHAPE(name, other_shape), sentence);                 \
  _Static_assert(HAS_SHAPE(name, shape) || HAS_SHAPE(name, other_shape), \
                 "another OAI generation: " #name " has other arguments")

/* The monotonic clock. */
uint64_t adapter_now_us(void);
/* The clock of the slot times: the monotonic one, or the CPU time of this thread. */
uint64_t adapter_slot_clock_ns(void);

/* The host, made on the first call; null if it cannot serve: then everything passes untouched. */
sojourn_gnb_t* adapter_gnb(void);

/* Whether a MAC schedules in this process. In a CU none does, and SDUs leave by F1-U. */
bool adapter_has_mac(void);
void adapter_mac_ticked(void);

/* Hands an SDU to PDCP and the RLC; sojourn_gnb_functions_t.forward. Waits for no system call and for
   no other bearer. */
int64_t adapter_forward(void* context, sojourn_gnb_bearer_t bearer, const uint8_t* sdu,
                        uint32_t length);
/* What `adapter_forward` has cost this thread since the last call, ns. */
uint64_t adapter_take_forwarded_ns(void);
/* Whether this thread fills a transport block, whose room is what the RLC gets. */
bool adapter_fills_block(void);
/* Whether the RLC takes `bytes` more of a DRB, where OAI asks before PDCP numbers an SDU. */
bool adapter_rlc_has_room(uint32_t rnti, int drb, int bytes);

/* A slot of a cell begins and has ended, by the thread that schedules it; `slots` are those of a frame,
   0 until the cell is configured. */
void adapter_slot_begins(int cell, int slots);
void adapter_slot_ended(int cell);
/* Sleeps so that slots of the cell do not begin before their time; for the RF simulator. */
void adapter_pace(int cell, uint32_t slot_us);

/* Describes what is missing of the wrapped symbols, one line each, to standard error. True if
   nothing is. */
bool adapter_all_wrapped(void);
bool adapter_pdcp_wrapped(void);
bool adapter_entity_wrapped(void);
bool adapter_rlc_wrapped(void);
bool adapter_mac_wrapped(void);
bool adapter_scheduler_wrapped(void);

typedef void adapter_function_t(void);

/* True if OAI has the function, and the linker made its name mean ours; says so if not. */
bool adapter_wrapped(const char* name, adapter_function_t* in_oai, adapter_function_t* meant,
                     adapter_function_t* ours);
#define IS_WRAPPED(name)                                                                  \
  adapter_wrapped(#name, (adapter_function_t*)REAL(name), (adapter_function_t*)(name), \
                  (adapter_function_t*)WRAP(name))

/* Starts the thread that writes the status file each `status_ms` and serves what no real-time thread
   does. */
void adapter_start_housekeeping(sojourn_gnb_t* gnb, uint64_t status_ms);

#endif
