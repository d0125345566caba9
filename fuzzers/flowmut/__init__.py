"""FlowMuT: mutates tensor programs along their data flow."""
