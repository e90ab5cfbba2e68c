//! TLS settings of the gRPC door.

use std::{fs, path::Path};

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use super::{error::ServeError, options::ServeOptions};

/// Reads certificate, key and client CA; `None` when TLS is off.
pub(super) fn server_config(options: &ServeOptions) -> Result<Option<ServerTlsConfig>, ServeError> {
    let (Some(cert), Some(key)) = (&options.tls_cert, &options.tls_key) else {
        return match (&options.tls_cert, &options.tls_key, &options.tls_client_ca) {
            (None, None, None) => Ok(None),
            _ => Err(ServeError::Tls("certificate and key go together".to_owned())),
        };
    };
    let identity = Identity::from_pem(read("--tls-cert", cert)?, read("--tls-key", key)?);
    let config = ServerTlsConfig::new().identity(identity);
    match &options.tls_client_ca {
        None => Ok(Some(config)),
        Some(ca) => {
            let ca = Certificate::from_pem(read("--tls-client-ca", ca)?);
            Ok(Some(config.client_ca_root(ca)))
        }
    }
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, ServeError> {
    fs::read(path).map_err(|source| ServeError::TlsFile { option, path: path.to_owned(), source })
}
