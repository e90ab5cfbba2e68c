#ifndef MOCK_PDCP_UE_MANAGER_H
#define MOCK_PDCP_UE_MANAGER_H

typedef void nr_pdcp_ue_manager_t;

void nr_pdcp_manager_lock(nr_pdcp_ue_manager_t* m);
void nr_pdcp_manager_unlock(nr_pdcp_ue_manager_t* m);

#endif
