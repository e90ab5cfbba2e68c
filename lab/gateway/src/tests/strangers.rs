//! A client that the access file does not list, over TLS and from several addresses: others are served.

use std::{
    env,
    net::{IpAddr, Ipv4Addr},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::{double::*, harness::*, pki::*};
use crate::{Gateway, ServeOptions, proto::ListNodesRequest};

const CONNECTIONS: usize = 400;
const ACCESS: &str = r"
clients:
  - {name: controller, certificates: [controller], may: [read, subscribe, control]}
";
/// Set in the network namespace in which this program starts itself again.
const NAMESPACE: &str = "SOJOURN_TEST_NAMESPACE";
/// Addresses of the gateway, two of strangers, one of the controller.
const ADDRESSES: [u8; 4] = [1, 2, 3, 4];

/// TLS from one address to another.
async fn dial_from(
    from: IpAddr,
    gateway: &Gateway,
    tls: &ClientTlsConfig,
) -> Result<Channel, tonic::transport::Error> {
    Endpoint::try_from(format!("https://{}", gateway.address()))
        .expect("a URI")
        .local_address(Some(from))
        .tls_config(tls.clone().domain_name("localhost"))?
        .connect()
        .await
}

/// Opens a connection with one `Health/Watch`, again and again when it ends.
async fn besiege(
    from: IpAddr,
    gateway: Arc<Gateway>,
    tls: ClientTlsConfig,
    tries: Arc<AtomicUsize>,
) {
    loop {
        if let Ok(channel) = dial_from(from, &gateway, &tls).await {
            let watch = HealthClient::new(channel).watch(HealthCheckRequest::default()).await;
            tries.fetch_add(1, Ordering::Relaxed);
            if let Ok(watch) = watch {
                let mut watch = watch.into_inner();
                while let Ok(Some(_)) = watch.message().await {}
            }
        } else {
            tries.fetch_add(1, Ordering::Relaxed);
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Four hundred connections of one unlisted certificate from two addresses, then the controller's.
async fn a_newcomer_is_served(addresses: [IpAddr; 4]) {
    let [own, first, second, newcomer] = addresses;
    let (files, authority) = (Files::new(), Authority::new());
    let options = ServeOptions {
        listen: format!("{own}:0"),
        access: files.write("access.yaml", ACCESS),
        max_connections: CONNECTIONS,
        ..files.mutual_tls(&authority)
    };
    let (gateway, _script) = start_with(&options).await;
    let gateway = Arc::new(gateway);
    let stranger = tls_client(&authority, Some(&authority.client("stranger")));
    let tries = Arc::new(AtomicUsize::new(0));
    let mut besiegers = JoinSet::new();
    for number in 0..CONNECTIONS {
        let from = if number % 2 == 0 { first } else { second };
        let (gateway, tls) = (Arc::clone(&gateway), stranger.clone());
        besiegers.spawn(besiege(from, gateway, tls, Arc::clone(&tries)));
    }
    until(async || tries.load(Ordering::Relaxed) >= CONNECTIONS).await;

    let controller = tls_client(&authority, Some(&authority.client("controller")));
    let mut served = Vec::new();
    for _ in 0..6 {
        let channel = patiently(dial_from(newcomer, &gateway, &controller)).await;
        let mut client = Client::new(channel.expect("a place"));
        let nodes = patiently(client.list_nodes(ListNodesRequest {})).await;
        assert_eq!(nodes.expect("nodes").into_inner().nodes.len(), 1);
        next(&mut subscribe(&mut client, every(1)).await).await;
        send_control(&mut client, control(ACCEPT)).await.expect("an answer");
        served.push(client);
    }
    besiegers.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_an_unlisted_name_leave_room_for_others() {
    let loopback = |last| IpAddr::from(Ipv4Addr::new(127, 0, 0, last));
    a_newcomer_is_served(ADDRESSES.map(loopback)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_an_unlisted_name_from_other_hosts_leave_room_for_others() {
    let host = |last| IpAddr::from(Ipv4Addr::new(192, 0, 2, last));
    if env::var_os(NAMESPACE).is_some() {
        return a_newcomer_is_served(ADDRESSES.map(host)).await;
    }
    let Some(unshare) = namespaces() else {
        eprintln!("skipped: neither root nor unprivileged user namespaces, or no `ip`");
        return;
    };
    let name =
        "tests::strangers::connections_of_an_unlisted_name_from_other_hosts_leave_room_for_others";
    let addresses = ADDRESSES.map(|last| format!("ip address add {}/32 dev lo && ", host(last)));
    let script = format!("ip link set lo up && {}exec \"$0\" \"$@\"", addresses.concat());
    let program = env::current_exe().expect("this program");
    let status = Command::new("unshare")
        .args(unshare)
        .args(["sh", "-c", &script])
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .env(NAMESPACE, "1")
        .status()
        .expect("unshare is there");
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn on_loopback_clients_without_a_token_leave_room_for_those_with_one() {
    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    let files = Files::new();
    files.write("noc.token", TOKEN);
    let access = "clients: [{name: noc, token_file: noc.token, may: [read]}]";
    let access = files.write("access.yaml", access);
    let options = ServeOptions { access, max_connections: 20, ..options() };
    let (gateway, _script) = start_with(&options).await;
    let mut open = Vec::new();
    for _ in 0..40 {
        let Ok(channel) = dial_plain(&gateway).await else { continue };
        let watch = HealthClient::new(channel).watch(HealthCheckRequest::default()).await;
        open.extend(watch.ok());
    }
    assert_eq!(open.len(), 15, "three quarters");
    let mut request = tonic::Request::new(ListNodesRequest {});
    let header = format!("Bearer {TOKEN}").parse().expect("ASCII");
    request.metadata_mut().insert("authorization", header);
    let mut noc = Client::new(dial_plain(&gateway).await.expect("a place"));
    let nodes = patiently(noc.list_nodes(request)).await.expect("nodes");
    assert_eq!(nodes.into_inner().nodes.len(), 1);
}

async fn dial_plain(gateway: &Gateway) -> Result<Channel, tonic::transport::Error> {
    let uri = format!("http://{}", gateway.address());
    Endpoint::try_from(uri).expect("a URI").connect().await
}

/// Options of `unshare` for a network namespace with addresses of our own, if there may be one.
fn namespaces() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    ways.into_iter().find(|way| {
        let tried =
            Command::new("unshare").args(*way).args(["ip", "link", "set", "lo", "up"]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}
