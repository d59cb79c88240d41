// chakra_trace.hpp — Chakra's execution traces (MLCommons, schema 0.0.4): a file a rank, each a
// list of nodes with what they wait for.
//
// Binary (`.et`): Protocol Buffers, a length before each message; first GlobalMetadata, then Nodes
// (schema/protobuf/et_def.proto). Or their JSON: objects one after another or in an array, with
// names as protobuf's JSON has them (`dataDeps`) or the schema (`data_deps`). Which it is, the
// first byte says. Of a node count: `id`, `name`, `type`, `ctrl_deps`, `data_deps`,
// `duration_micros`, and the attributes `is_cpu_op`, `comm_type`, `comm_size`, `comm_src`,
// `comm_dst`, `comm_tag`, `pg_name`, `num_ops`, `tensor_size` and `involved_dim` (which must name
// all dimensions).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::scenarios {

// As in the schema; a number that it does not have is `other`, a name is refused.
enum class ChakraType : std::uint8_t {
    metadata,
    load,
    store,
    compute,
    send,
    receive,
    collective,
    other
};
enum class ChakraCollective : std::uint8_t {
    all_reduce,
    reduce,
    all_gather,
    gather,
    scatter,
    broadcast,
    all_to_all,
    reduce_scatter,
    reduce_scatter_block,
    barrier
};

std::string_view name_of(ChakraCollective collective);  // in the schema

struct ChakraNode {
    std::uint64_t id = 0;
    std::string name;
    ChakraType type = ChakraType::other;
    std::vector<std::uint64_t> after;  // ids; of both kinds
    std::uint64_t duration_us = 0;
    bool on_cpu = false;
    ChakraCollective collective = ChakraCollective::all_reduce;
    bool names_collective = false;  // by comm_type, without which collectives are refused
    std::int64_t bytes = 0;
    bool names_bytes = false;  // by comm_size, without which none is sent but barriers
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t tag = 0;
    std::string group;            // empty: all ranks
    std::int64_t operations = 0;  // floating point
    std::int64_t tensor_bytes = 0;
    bool all_dimensions = true;
};

inline constexpr std::size_t chakra_bytes_max = std::size_t{64} << 20;  // a file
inline constexpr std::size_t chakra_nodes_max = 1'000'000;              // of a file

// Any bytes at all. InputError with the file and the byte, or the JSON's place: what was expected
// and what was found.
std::vector<ChakraNode> parse_chakra(std::string_view bytes, std::string_view file);

}  // namespace ukemi::scenarios
