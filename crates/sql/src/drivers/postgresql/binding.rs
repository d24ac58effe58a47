//! Channel binding of a SCRAM exchange to its encrypted connection: the hash of the server's certificate
//! (`tls-server-end-point`, RFC 5929, section 4.1), so that no man in the middle can relay the proof.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// The hash of a certificate by the algorithm of its signature, SHA-256 in place of MD5 and SHA-1; None where the signature
/// names no hash (Ed25519).
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate ::= SEQUENCE { what is signed, SEQUENCE { algorithm, ... }, signature }: X.690 DER, RFC 5280 section 4.1.
    let (whole, _) = element(certificate)?;
    let (_, rest) = element(whole)?;
    let (algorithm, _) = element(rest)?;
    let (identifier, _) = element(algorithm)?;
    Some(match identifier {
        // RSA: 1.2.840.113549.1.1.x; MD5, SHA-1, SHA-256.
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 4 | 5 | 11] => Sha256::digest(certificate).to_vec(),
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 12] => Sha384::digest(certificate).to_vec(),
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 13] => Sha512::digest(certificate).to_vec(),
        // ECDSA: 1.2.840.10045.4; with SHA-1, SHA-256, SHA-384, SHA-512.
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 1] | [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2] => {
            Sha256::digest(certificate).to_vec()
        }
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 3] => Sha384::digest(certificate).to_vec(),
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 4] => Sha512::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// The content of the first element, and what follows it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = der.split_at_checked(2)?;
    let (length, rest) = match head[1] {
        short @ 0..0x80 => (usize::from(short), rest),
        long => {
            let (bytes, rest) =
                rest.split_at_checked(usize::from(long & 0x7F)).filter(|(b, _)| b.len() <= 4)?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::{element, end_point};

    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let identifier = [&[6, algorithm.len() as u8], algorithm].concat();
        let parts =
            [&[0x30, 0x81, 0x80], &[7; 0x80][..], &[0x30, identifier.len() as u8], &identifier].concat();
        [&[0x30, 0x82, 0, parts.len() as u8], &parts[..]].concat()
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let rsa = |last| certificate(&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, last]);
        for (last, bytes) in [(5, 32), (11, 32), (12, 48), (13, 64)] {
            assert_eq!(end_point(&rsa(last)).map(|hash| hash.len()), Some(bytes), "{last}");
        }
        assert_eq!(
            end_point(&certificate(&[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 3])).map(|h| h.len()),
            Some(48)
        );
        assert_eq!(end_point(&certificate(&[0x2B, 0x65, 0x70])), None, "Ed25519 names no hash");
    }

    #[test]
    fn what_ends_too_early_is_no_certificate() {
        let whole = certificate(&[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]);
        assert!((0..whole.len()).all(|length| end_point(&whole[..length]).is_none()));
        assert_eq!(element(&[0x30, 0x85, 1, 1, 1, 1, 1]), None, "no certificate has 2^40 bytes");
    }
}
