"""`gnb-lab compare`: recorded runs side by side, with statistics over seeds."""
