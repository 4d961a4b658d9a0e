//! Randomness that is the same on every attempt of a step: a stream made from the step key. It is unguessable from
//! outside because the key is; that is all a connector may expect (an id for a request, a multipart boundary).

use sha2::{Digest, Sha256};
use wasmtime::bail;
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

/// What one question may ask for.
const RANDOM_BYTES_MAX: u64 = 1 << 20;

/// SHA-256 in counter mode, seeded by the step key.
pub(super) struct Seeded {
    seed: [u8; 32],
    blocks: u64,
    rest: Vec<u8>,
}

impl Seeded {
    pub(super) fn by(step_key: &str) -> Seeded {
        let mut hash = Sha256::new();
        hash.update(b"oncegate guest randomness 1\0");
        hash.update(step_key.as_bytes());
        Seeded {
            seed: hash.finalize().into(),
            blocks: 0,
            rest: Vec::new(),
        }
    }

    fn block(&self, number: u64) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(number.to_be_bytes());
        hash.finalize().into()
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        let mut taken = std::mem::take(&mut self.rest);
        while taken.len() < len {
            // Block 0 is the insecure seed.
            self.blocks += 1;
            taken.extend_from_slice(&self.block(self.blocks));
        }
        self.rest = taken.split_off(len);
        taken
    }

    fn bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        match usize::try_from(len) {
            Ok(wanted) if len <= RANDOM_BYTES_MAX => Ok(self.take(wanted)),
            _ => bail!("the guest asked for {len} random bytes at once; it may have {RANDOM_BYTES_MAX}"),
        }
    }

    fn number(&mut self) -> u64 {
        self.take(8)
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl random::Host for Seeded {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.bytes(len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.number())
    }
}

impl insecure::Host for Seeded {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.bytes(len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.number())
    }
}

impl insecure_seed::Host for Seeded {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        let block = self.block(0);
        let half = |from: usize| {
            block[from..from + 8]
                .iter()
                .fold(0, |seed, byte| seed << 8 | u64::from(*byte))
        };
        Ok((half(0), half(8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_gets_up_to_a_mebibyte() {
        let mut random = Seeded::by("og1_a");
        assert_eq!(random.bytes(1_048_576).unwrap().len(), 1_048_576);
        assert_eq!(
            random.bytes(1_048_577).unwrap_err().to_string(),
            "the guest asked for 1048577 random bytes at once; it may have 1048576"
        );
    }
}
