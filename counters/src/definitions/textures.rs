//! Texels as SMs ask for them.

use gpucast_ptx_frontend::isa::Opcode;

use super::Nvprof::Unknown;
use super::row::{count, is, quotient};
use super::{Basis, Definition, Topic};

/// Instructions that fetch texels by coordinates. `tld4` gathers one component of four texels.
const FETCHES: &[Opcode] = &[Opcode::Tex, Opcode::Tld4];

pub(super) const TOPIC: Topic = Topic {
    title: "Textures and surfaces",
    introduction: "Texels lie row by row here, so that sectors of NVIDIA's arrays may differ. A \
                   fetch is one request. Its sectors are those of all texels that its filter \
                   reads, in both levels where it blends two. A fetch that reads none, because all \
                   its places lie outside, is no request here.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("texture_requests", Unknown, is!["l1tex__t_requests_pipe_tex_mem_texture.sum"], "request", AccessModel, |t| t.texels(FETCHES).requests,
        "texture fetches of warps with at least one thread that reads a texel"),
    count!("texture_sectors", Unknown, is!["l1tex__t_sectors_pipe_tex_mem_texture.sum"], "sector", AccessModel, |t| t.texels(FETCHES).sectors,
        "distinct 32-byte sectors of the texels of each texture fetch"),
    quotient!("texture_sectors_per_request", Unknown, is!["l1tex__average_t_sectors_per_request_pipe_tex_mem_texture.ratio"], "sector/request", AccessModel, 1.0, |t| (t.texels(FETCHES).sectors, t.texels(FETCHES).requests),
        "mean sectors of a texture fetch"),
    count!("surface_load_sectors", Unknown, is!["l1tex__t_sectors_pipe_tex_mem_surface_op_ld.sum"], "sector", AccessModel, |t| t.texels(&[Opcode::Suld]).sectors,
        "distinct 32-byte sectors of each surface load"),
    count!("surface_store_sectors", Unknown, is!["l1tex__t_sectors_pipe_tex_mem_surface_op_st.sum"], "sector", AccessModel, |t| t.texels(&[Opcode::Sust]).sectors,
        "distinct 32-byte sectors of each surface store"),
    count!("surface_reduction_sectors", Unknown, is!["l1tex__t_sectors_pipe_tex_mem_surface_op_red.sum"], "sector", AccessModel, |t| t.texels(&[Opcode::Sured]).sectors,
        "distinct 32-byte sectors of each surface reduction"),
];
