//! Compiles the protocol.

fn main() -> std::io::Result<()> {
    tonic_prost_build::configure()
        .bytes(".")
        .btree_map(".")
        .compile_protos(&["proto/agent.proto"], &["proto"])
}
