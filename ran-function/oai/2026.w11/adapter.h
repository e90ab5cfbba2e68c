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
#define WRAPPED(name) extern __typeof__(name) REAL(name) __attribute__((weak))

/* Fails the build, in words, if a function of OAI has another shape than this adapter is written
   for. */
#define SHAPE(name, ...)                                                             \
  _Static_assert(__builtin_types_compatible_p(__typeof__(name), __typeof__(__VA_ARGS__)), \
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

/* Hands an SDU to OAI's PDCP; sojourn_gnb_functions_t.forward. */
int64_t adapter_forward(void* context, sojourn_gnb_bearer_t bearer, const uint8_t* sdu,
                        uint32_t length);
/* Has PDCP for this thread until it is released, if it is free within some microseconds: then
   `adapter_forward` waits for nobody. What it forwards meanwhile goes to the RLC on release, so that no
   thread has PDCP while it waits for the RLC. */
bool adapter_pdcp_try(void);
void adapter_pdcp_release(void);
/* Whether this thread has it. */
bool adapter_pdcp_held(void);
/* Hands to the RLC what `adapter_forward` has kept for it. */
void adapter_flush_to_rlc(void);

/* What `adapter_forward` has cost this thread since the last call, ns. */
uint64_t adapter_take_forwarded_ns(void);

/* Describes what is missing of the wrapped symbols, one line each, to standard error. True if
   nothing is. */
bool adapter_all_wrapped(void);
bool adapter_pdcp_wrapped(void);
bool adapter_pdcp_lock_wrapped(void);
bool adapter_rlc_wrapped(void);
bool adapter_mac_wrapped(void);

typedef void adapter_function_t(void);

/* True if OAI has the function, and the linker made its name mean ours; says so if not. */
bool adapter_wrapped(const char* name, adapter_function_t* in_oai, adapter_function_t* meant,
                     adapter_function_t* ours);
#define IS_WRAPPED(name)                                                                  \
  adapter_wrapped(#name, (adapter_function_t*)REAL(name), (adapter_function_t*)(name), \
                  (adapter_function_t*)WRAP(name))

/* Sleeps so that slots of `slot_us` do not begin before their time; for the RF simulator. */
void adapter_pace(uint32_t slot_us);

/* Starts the thread that writes the status file each `status_ms` and serves what no real-time thread
   does. */
void adapter_start_housekeeping(sojourn_gnb_t* gnb, uint64_t status_ms);

#endif
