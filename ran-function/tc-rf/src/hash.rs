//! Keyed hash of a 5-tuple: SipHash-1-3 (Aumasson and Bernstein 2012), so that a sender who does
//! not know the key cannot aim its flows at one queue (RFC 8290 §7).

use std::net::IpAddr;

use crate::{FiveTuple, InnerFlow};

/// Key of the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashKey(pub(crate) u64, pub(crate) u64);

impl HashKey {
    /// A key from a scenario's seed.
    pub(crate) fn from_seed(seed: u64) -> Self {
        let first = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
        Self(first, mix(first ^ 0xd1b5_4a32_d192_ed03))
    }

    /// Hash of a flow.
    #[inline]
    pub(crate) fn hash(self, flow: &FiveTuple) -> u64 {
        self.siphash_1_3(flow_words(flow))
    }

    /// Hash of a flow in a tunnel, or of one with a label.
    pub(crate) fn hash_inner(self, inner: &InnerFlow) -> u64 {
        let [a, b, c, d, e] = flow_words(&inner.flow);
        self.siphash_1_3([a, b, c, d, e, inner.label])
    }

    /// Hash of a host.
    pub(crate) fn hash_host(self, address: IpAddr) -> u64 {
        self.siphash_1_3(address_words(address))
    }

    /// Hash of a source and a destination.
    pub(crate) fn hash_pair(self, flow: &FiveTuple) -> u64 {
        let [a, b, c, d, _] = flow_words(flow);
        self.siphash_1_3([a, b, c, d])
    }

    /// SipHash-1-3 of bytes given as little-endian words.
    #[inline]
    fn siphash_1_3<const WORDS: usize>(self, words: [u64; WORDS]) -> u64 {
        let length_word = (WORDS as u64 * 8) << 56;
        let mut v = [
            self.0 ^ 0x736f_6d65_7073_6575,
            self.1 ^ 0x646f_7261_6e64_6f6d,
            self.0 ^ 0x6c79_6765_6e65_7261,
            self.1 ^ 0x7465_6462_7974_6573,
        ];
        for word in words {
            compress(&mut v, word);
        }
        compress(&mut v, length_word);
        v[2] ^= 0xff;
        for _ in 0..3 {
            sip_round(&mut v);
        }
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

#[inline]
fn compress(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

#[inline]
fn sip_round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[inline]
fn flow_words(flow: &FiveTuple) -> [u64; 5] {
    let [a, b] = address_words(flow.source);
    let [c, d] = address_words(flow.destination);
    let ports = u64::from(flow.source_port) | u64::from(flow.destination_port) << 16;
    [a, b, c, d, ports | u64::from(flow.protocol) << 32]
}

/// IPv4 addresses as IPv4-mapped IPv6 ones (RFC 4291 §2.5.5.2).
#[inline]
fn address_words(address: IpAddr) -> [u64; 2] {
    let bits = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    [bits as u64, (bits >> 64) as u64]
}

/// Finaliser of MurmurHash3: spreads the entropy of all bits over all bits.
#[inline]
pub(crate) fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Scales a hash to `0..count` without a division (Lemire 2019).
#[inline]
pub(crate) fn scale(hash: u64, count: u32) -> u32 {
    (((hash >> 32) * u64::from(count)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hasher;

    fn flow(host: u8, port: u16) -> FiveTuple {
        FiveTuple {
            source: IpAddr::from([192, 0, 2, host]),
            destination: IpAddr::from([198, 51, 100, 7]),
            source_port: port,
            destination_port: 443,
            protocol: 6,
        }
    }

    #[test]
    fn is_siphash_1_3() {
        // The standard library's hasher is SipHash-1-3 with a zero key.
        let words = [1u64, u64::MAX, 0x0123_4567_89ab_cdef, 7, 1 << 63];
        let mut reference = std::hash::DefaultHasher::new();
        for word in words {
            reference.write(&word.to_le_bytes());
        }
        assert_eq!(HashKey(0, 0).siphash_1_3(words), reference.finish());
        let mut reference = std::hash::DefaultHasher::new();
        reference.write(&[words[0].to_le_bytes(), words[1].to_le_bytes()].concat());
        assert_eq!(HashKey(0, 0).siphash_1_3([words[0], words[1]]), reference.finish());
    }

    #[test]
    fn spreads_consecutive_ports_evenly() {
        let key = HashKey::from_seed(1);
        let mut histogram = [0u32; 64];
        for port in 0..64_000 {
            histogram[scale(key.hash(&flow(1, port)), 64) as usize] += 1;
        }
        // 1000 expected with a standard deviation of 31: six of them either way.
        assert!(histogram.iter().all(|&n| (810..1190).contains(&n)), "{histogram:?}");
    }

    #[test]
    fn depends_on_the_key_and_on_every_field() {
        let base = flow(1, 1000);
        let key = HashKey::from_seed(1);
        let mut others = vec![flow(2, 1000), flow(1, 1001)];
        others.push(FiveTuple { destination: IpAddr::from([198, 51, 100, 8]), ..base });
        others.push(FiveTuple { destination_port: 444, ..base });
        others.push(FiveTuple { protocol: 17, ..base });
        for other in others {
            assert_ne!(key.hash(&base), key.hash(&other));
        }
        assert_ne!(key.hash(&base), HashKey::from_seed(2).hash(&base));
    }
}
