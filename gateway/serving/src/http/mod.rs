//! HTTP/1.1 servers: requests within the limits of their clients, for the names of the server.

mod admission;
mod serve;

pub use admission::{
    Admission, OpenRequest, REQUESTS, Rates, Render, SCRAPES, admitted, plain, problem, refused,
};
pub use serve::serve;
