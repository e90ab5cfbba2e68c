//! The features that the manifest of `shared-features` names, in the workspace of the lab.
