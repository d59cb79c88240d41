// imports_test.cpp — machines from what NCCL and nvidia-smi say of them, and what is refused.
#include <array>
#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/nccl_topology.hpp"
#include "sim/cluster/rings.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/smi_topology.hpp"
#include "sim/cluster/xml_reader.hpp"
#include "tests/sim/cluster/dumps.hpp"

namespace ukemi {
namespace {

std::vector<sim::DeviceId> first_gpus(const sim::Topology& topology, std::size_t count) {
    std::vector<sim::DeviceId> gpus = topology.workers();
    gpus.resize(count);
    return gpus;
}

// An NVSwitch machine: six switches, two NVLinks to each, as NCCL lists them.
std::string nvswitch_xml(int gpus) {
    std::string text = "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">";
    for (int gpu = 0; gpu < gpus; ++gpu) {
        text += fmt::format(
            "<pci busid=\"0000:0{}:00.0\" link_speed=\"16.0 GT/s PCIe\" "
            "link_width=\"16\"><gpu dev=\"{}\" sm=\"80\">",
            gpu, gpu);
        for (int plane = 0; plane < 6; ++plane) {
            text += fmt::format(
                "<nvlink target=\"0000:c{}:00.0\" count=\"2\" tclass=\"0x068000\"/>", plane);
        }
        text += "</gpu></pci>";
    }
    return text + "</cpu></system>";
}

// Two GPUs of a compute capability, one beside the other, that four NVLinks join.
std::string pair_xml(int capability) {
    std::string text = "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">";
    for (int gpu = 0; gpu < 2; ++gpu) {
        text += fmt::format(
            "<pci busid=\"000{}:00:00.0\" link_speed=\"\" link_width=\"\"><gpu dev=\"{}\" "
            "sm=\"{}\"><nvlink target=\"000{}:00:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu>"
            "</pci>",
            gpu, gpu, capability, 1 - gpu);
    }
    return text + "</cpu></system>";
}

// A virtual machine of two sockets, in each of which stands what `nics` says for it.
std::string virtual_xml(std::string_view first, std::string_view second) {
    std::string text = "<system version=\"1\">";
    for (int socket = 0; socket < 2; ++socket) {
        text += fmt::format(
            "<cpu host_hash=\"0x1\" numaid=\"{}\" arch=\"x86_64\"><pci busid=\"000{}:00:00.0\" "
            "link_speed=\"32.0 GT/s PCIe\" link_width=\"0\"><gpu dev=\"{}\" sm=\"90\"/></pci>"
            "<nic>{}</nic></cpu>",
            socket, socket, socket, socket == 0 ? first : second);
    }
    return text + "</system>";
}

// Trays of an NVLink domain: the buses of one are numbered as those of the other.
std::string trays_xml(std::string_view first_host, std::string_view second_host) {
    std::string text = "<system version=\"1\">";
    for (const std::string_view host : {first_host, second_host}) {
        for (int socket = 0; socket < 2; ++socket) {
            text += fmt::format(
                "<cpu host_hash=\"{}\" numaid=\"{}\" arch=\"arm64\"><pci busid=\"000{}:01:00.0\" "
                "device=\"0x2941\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"{}\" "
                "sm=\"100\"><nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>"
                "<c2c bw=\"44\" count=\"10\"/></gpu></pci><nic><net name=\"eth0\" dev=\"0\" "
                "speed=\"400000\"/></nic></cpu>",
                host, socket, socket, socket);
        }
    }
    return text + "</system>";
}

// What nvidia-smi says of GPUs each two of which are joined alike.
std::string full_smi(int gpus, std::string_view relation) {
    std::string text;
    for (int i = 0; i < gpus; ++i) text += fmt::format("\tGPU{}", i);
    text += "\tCPU Affinity\n";
    for (int i = 0; i < gpus; ++i) {
        text += fmt::format("GPU{}", i);
        for (int j = 0; j < gpus; ++j) text += fmt::format("\t{}", i == j ? "X" : relation);
        text += "\t0-63\n";
    }
    return text;
}

}  // namespace

TEST_CASE("imports: a DGX-1 read from either form has the rings of the preset", "[imports]") {
    const sim::Topology preset = sim::build_cluster("dgx1_v100", 1);
    const sim::Topology imported = GENERATE(true, false)
                                       ? sim::parse_nccl_topology(dgx1_xml(), "dump.xml")
                                       : sim::parse_smi_topology(dgx1_smi(), "topo.txt");
    REQUIRE(imported.workers().size() == 8);
    CHECK(imported.devices_of(sim::DeviceKind::cpu).size() == 2);
    CHECK(imported.devices_of(sim::DeviceKind::pcie_switch).size() == 4);
    CHECK(imported.devices_of(sim::DeviceKind::nic).size() == 4);
    for (std::size_t count = 2; count <= 8; ++count) {
        CAPTURE(count);
        const sim::RingPlan one = sim::find_rings(preset, first_gpus(preset, count));
        const sim::RingPlan other = sim::find_rings(imported, first_gpus(imported, count));
        CHECK(one.kind == other.kind);
        CHECK(one.rings.size() == other.rings.size());
        CHECK(one.bandwidth == other.bandwidth);
    }
    sim::Routes routes(imported);
    const auto gpus = imported.workers();
    CHECK(routes.route(gpus[0], gpus[5]).size() == 5);  // across the sockets
    CHECK(routes.route(gpus[0], gpus[3]).size() == 1);
}

TEST_CASE("imports: ports of a card are one NIC, and slow NICs are left out", "[imports]") {
    const std::string one = dgx1_xml();
    const auto rate_of = [](const std::string& text) {
        return sim::parse_nccl_topology(text, "dump.xml").machines().front().nic_gbit_per_s;
    };
    CHECK(rate_of(one) == 100);
    std::string two_ports;
    for (std::size_t at = 0; at < one.size();) {
        const std::size_t end = one.find("</nic>", at);
        two_ports += one.substr(at, end - at);
        if (end == std::string::npos) break;
        two_ports += "<net name=\"second\" speed=\"100000\" port=\"2\"/></nic>";
        at = end + 6;
    }
    CHECK(rate_of(two_ports) == 200);
    std::string mixed = one;
    mixed.replace(mixed.find("speed=\"100000\""), 14, "speed=\"25000\"");
    CHECK(rate_of(mixed) == 100);
    CHECK(sim::parse_nccl_topology(mixed, "m.xml").devices_of(sim::DeviceKind::nic).size() == 3);
}

TEST_CASE("imports: what switches of Broadcom note of each other is left out", "[imports]") {
    std::string text = dgx1_xml();
    const std::size_t bridge = text.find('\n', text.find("class=\"0x060400\""));
    text.insert(bridge, "<pcilink target=\"0000:01:00.0\"/>");
    const sim::Topology with = sim::parse_nccl_topology(text, "dump.xml");
    const sim::Topology without = sim::parse_nccl_topology(dgx1_xml(), "dump.xml");
    CHECK(with.workers().size() == 8);
    CHECK(with.links().size() == without.links().size());
}

TEST_CASE("imports: a machine alone needs no rate of its NICs, whatever the network", "[imports]") {
    for (const char* kind : {"single_switch", "leaf_spine", "fat_tree", "ring", "rails"}) {
        CAPTURE(kind);
        const auto named = std::ranges::find(sim::fabric_names, kind);
        sim::FabricSpec fabric;
        fabric.kind = static_cast<sim::FabricKind>(named - sim::fabric_names.begin());
        sim::ClusterSpec spec;
        spec.zones.push_back({"topo.txt", 1, fabric,
                              std::make_shared<const sim::Topology>(
                                  sim::parse_smi_topology(dgx1_smi(), "topo.txt"))});
        CHECK(sim::build_cluster(spec).workers().size() == 8);
    }
}

TEST_CASE("imports: NVSwitch links of NCCL's dump are one plane", "[imports]") {
    const sim::Topology topology = sim::parse_nccl_topology(nvswitch_xml(8), "dump.xml");
    CHECK(topology.devices_of(sim::DeviceKind::nvswitch).size() == 1);
    CHECK(sim::find_rings(topology, topology.workers()).bandwidth.raw() == 300e9);
    sim::Routes routes(topology);
    CHECK(routes.bandwidth(topology.workers()[0], topology.devices_of(sim::DeviceKind::cpu)[0])
              .raw() == Approx(31.508e9).epsilon(1e-4));
}

TEST_CASE("imports: a full matrix of NVLinks in nvidia-smi is one plane", "[imports]") {
    const std::string text = full_smi(3, "NV12");
    sim::SmiOptions options;
    options.gpu = &sim::gpu_named("a100_sxm4_40gb", "t");
    const sim::Topology topology = sim::parse_smi_topology(text, "topo.txt", options);
    CHECK(topology.devices_of(sim::DeviceKind::nvswitch).size() == 1);
    CHECK(topology.devices_of(sim::DeviceKind::cpu).size() == 1);
    CHECK(sim::find_rings(topology, topology.workers()).bandwidth.raw() == 300e9);
    for (const auto& [gpu, complaint] :
         {std::pair{"t4", "topo.txt:2:8: expected no NVLinks of t4, found NV12"},
          std::pair{"v100_sxm2_16gb",
                    "topo.txt:2:8: expected NV1 to NV6 of v100_sxm2_16gb, found NV12"}}) {
        options.gpu = &sim::gpu_named(gpu, "t");
        CHECK_THROWS_WITH(sim::parse_smi_topology(text, "topo.txt", options), complaint);
    }
}

TEST_CASE("imports: NVLinks beyond a GPU's own lanes lead to a switch", "[imports]") {
    const auto planes = [](const std::string& text, const char* gpu, double ring) {
        sim::SmiOptions options;
        if (gpu != nullptr) options.gpu = &sim::gpu_named(gpu, "t");
        const sim::Topology topology = sim::parse_smi_topology(text, "topo.txt", options);
        CHECK(sim::find_rings(topology, topology.workers()).bandwidth.raw() == ring);
        return topology.devices_of(sim::DeviceKind::nvswitch).size();
    };
    // Some GPUs of a DGX-2; three A800, which have 8 lanes of an A100's.
    CHECK(planes(full_smi(3, "NV6"), "v100_sxm2_32gb", 150e9) == 1);
    CHECK(planes(full_smi(4, "NV6"), "v100_sxm2_32gb", 150e9) == 1);
    CHECK(planes(full_smi(3, "NV8"), "a100_sxm4_80gb", 200e9) == 1);
    // Two GPUs, four A100 and four H100 that are directly linked, a DGX-1.
    CHECK(planes(full_smi(2, "NV12"), "a100_sxm4_80gb", 300e9) == 0);
    CHECK(planes(full_smi(4, "NV4"), "a100_sxm4_40gb", 300e9) == 0);
    CHECK(planes(full_smi(4, "NV6"), "h100_sxm5_80gb", 450e9) == 0);
    CHECK(planes(full_smi(4, "NV6"), nullptr, 450e9) == 0);
    CHECK(planes(dgx1_smi(), "v100_sxm2_16gb", 150e9) == 0);
    sim::SmiOptions options;
    options.gpu = &sim::gpu_named("p100_sxm2", "t");
    CHECK_THROWS_WITH(sim::parse_smi_topology(dgx1_smi(), "topo.txt", options),
                      "topo.txt:2:18: more NVLinks than the 4 of p100_sxm2 cannot be direct ones, "
                      "and those of GPU0 to a switch would not differ: NV1 and NV2");
}

TEST_CASE("imports: a socket is one NUMA node, whatever the relation says", "[imports]") {
    // Four GPUs, each at a root of its own; two and two share a node.
    const auto sockets_of = [](std::string_view columns, std::array<const char*, 4> affinities) {
        std::string text = fmt::format("\tGPU0\tGPU1\tGPU2\tGPU3\t{}\n", columns);
        for (std::size_t i = 0; i < 4; ++i) {
            text += fmt::format("GPU{}", i);
            for (std::size_t j = 0; j < 4; ++j) text += i == j ? "\tX" : "\tSYS";
            text += fmt::format("\t{}\n", affinities[i]);
        }
        const sim::Topology topology = sim::parse_smi_topology(text, "topo.txt");
        return topology.devices_of(sim::DeviceKind::cpu).size();
    };
    const std::string numa = "CPU Affinity\tNUMA Affinity\tGPU NUMA ID";
    CHECK(sockets_of(numa, {"0-31\t0\tN/A", "0-31\t0\tN/A", "32-63\t1\tN/A", "32-63\t1\tN/A"}) ==
          2);
    CHECK(sockets_of(
              numa, {"0-63\t0-1\tN/A", "0-63\t0-1\tN/A", "0-63\t0-1\tN/A", "0-63\t0-1\tN/A"}) == 4);
    CHECK(sockets_of(numa, {"0-31\tN/A\tN/A", "0-31\tN/A\tN/A", "32-63\tN/A\tN/A",
                            "32-63\tN/A\tN/A"}) == 4);
    CHECK(sockets_of("CPU Affinity", {"0-31", "0-31", "32-63", "32-63"}) == 4);
}

TEST_CASE("imports: a lane of NVLink is as fast as the GPU's data sheet says", "[imports]") {
    const auto [capability, lane] = GENERATE(table<int, double>(
        {{60, 20}, {70, 25}, {75, 25}, {80, 25}, {86, 14.0625}, {90, 25}, {100, 50}}));
    CAPTURE(capability);
    const sim::Topology topology = sim::parse_nccl_topology(pair_xml(capability), "dump.xml");
    CHECK(sim::find_rings(topology, topology.workers()).bandwidth.raw() == 4 * lane * 1e9);
}

TEST_CASE("imports: a NIC that stands under several sockets is one", "[imports]") {
    const auto nics_of = [](const std::string& text) {
        const sim::Topology topology = sim::parse_nccl_topology(text, "dump.xml");
        return std::pair{topology.devices_of(sim::DeviceKind::nic).size(),
                         topology.machines().front().nic_gbit_per_s};
    };
    const std::string eth0 = R"(<net name="eth0" dev="0" speed="10000" port="0" guid="0x0"/>)";
    const auto kind_of = [](const std::string& text) {
        return sim::parse_nccl_topology(text, "dump.xml").machines().front().nics;
    };
    CHECK(kind_of(virtual_xml(eth0, eth0)) == sim::NicKind::ethernet);
    const std::string mlx5 = changed(eth0, "eth0", "mlx5_0");
    CHECK(kind_of(virtual_xml(mlx5, mlx5)) == sim::NicKind::infiniband);
    CHECK(kind_of(virtual_xml(eth0, mlx5)) == sim::NicKind::infiniband);
    const std::string eth1 = R"(<net name="eth1" dev="1" speed="10000" port="0" guid="0x1"/>)";
    CHECK(nics_of(virtual_xml(eth0, eth0)) == std::pair{std::size_t{1}, 10.0});
    CHECK(nics_of(virtual_xml(eth0 + eth1, eth0 + eth1)) == std::pair{std::size_t{1}, 20.0});
    CHECK(nics_of(virtual_xml(eth0, eth1)) == std::pair{std::size_t{2}, 10.0});
    CHECK(nics_of(virtual_xml(eth0, eth0 + eth1)) == std::pair{std::size_t{2}, 10.0});
    CHECK(nics_of(virtual_xml(eth0, changed(eth0, "dev=\"0\"", "dev=\"1\""))) ==
          std::pair{std::size_t{2}, 10.0});
    CHECK(nics_of(virtual_xml(eth0, changed(eth0, "\"0x0\"", "\"0x2\""))) ==
          std::pair{std::size_t{2}, 10.0});
    // It is beside the first socket.
    const sim::Topology one = sim::parse_nccl_topology(virtual_xml(eth0, eth0), "dump.xml");
    sim::Routes routes(one);
    const auto nic = one.devices_of(sim::DeviceKind::nic).front();
    CHECK(routes.route(one.devices_of(sim::DeviceKind::cpu)[0], nic).size() == 1);
    CHECK_THROWS_WITH(
        sim::parse_nccl_topology(virtual_xml(eth0, changed(eth0, "10000", "25000")), "dump.xml"),
        Catch::EndsWith("speed: eth0 (dev 0) has 25000 here and 10000 under a <cpu> before"));
}

TEST_CASE("imports: hosts that NVLink joins are one machine", "[imports]") {
    const sim::Topology topology = sim::parse_nccl_topology(trays_xml("0xa", "0xb"), "dump.xml");
    CHECK(topology.machines().size() == 1);
    CHECK(topology.machines().front().gpu == "gb200_186gb");
    const auto gpus = topology.workers();
    const auto sockets = topology.devices_of(sim::DeviceKind::cpu);
    REQUIRE(gpus.size() == 4);
    REQUIRE(sockets.size() == 4);
    CHECK(topology.devices_of(sim::DeviceKind::nvswitch).size() == 1);
    CHECK(topology.devices_of(sim::DeviceKind::nic).size() == 2);  // one of a host
    CHECK(sim::find_rings(topology, gpus).bandwidth.raw() == 900e9);
    CHECK(topology.lanes_between(sockets[0], sockets[1], sim::LinkKind::socket) == 1);
    CHECK(topology.lanes_between(sockets[1], sockets[2], sim::LinkKind::socket) == 0);
    CHECK_THROWS_WITH(sim::parse_nccl_topology(trays_xml("0xa", "0xa"), "dump.xml"),
                      Catch::Contains("two GPUs at busid \"0000:01:00.0\""));
}

TEST_CASE("imports: a broken NCCL dump is refused with its line", "[imports]") {
    const auto [from, to, complaint] = GENERATE(table<const char*, const char*, const char*>({
        {"link_width=\"16\"", "link_width=\"33\"",
         "dump.xml:4:5: link_width: expected a whole number from 0 to 32, found \"33\""},
        {"8.0 GT/s PCIe", "0.0 GT/s PCIe", "dump.xml:4:5: link_speed: expected a rate such as"},
        {"8.0 GT/s PCIe", "fast", "found \"fast\""},
        {"count=\"1\"", "count=\"0\"",
         "dump.xml:7:11: count: expected a whole number from 1 to 64"},
        {"count=\"1\"", "count=\"2\"", "gpu1 lists 1 NVLinks to gpu0, which lists 2"},
        {"target=\"0000:07:00.0\"", "target=\"0000:77:00.0\"", "there is no GPU at"},
        {"target=\"0000:07:00.0\"", "target=\"0000:06:00.0\"", "an NVLink from a GPU to itself"},
        {"<gpu dev=\"0\"", "<gpo dev=\"0\"",
         "dump.xml:11:11: expected XML: Start-end tags mismatch"},
        {"speed=\"100000\"", "speed=\"0\"", "speed: expected a whole number from 1"},
        {"busid=\"0000:07:00.0\"", "busid=\"0000:06:00.0\"", "two GPUs at busid"},
        {"dev=\"1\"", "dev=\"0\"",
         "gpu0 at busid \"0000:06:00.0\" and gpu1 at busid \"0000:07:00.0\" have the same dev, 0"},
        {"<cpu ", "<gpu ", "Start-end tags mismatch"},
        {"<system version=\"1\">", "<system version=\"1\">\n<tree/>",
         "dump.xml:3:1: expected <cpu>"},
        {"<?xml version=\"1.0\"?>", "<?xml version=\"1.0\"", "Error parsing document declaration"},
        {"numaid=\"0\"", "numaid=\"0\" numaid=\"1\"", "attribute numaid appears twice"},
        {"numaid=\"0\"", "numaid=0", "Error parsing element attribute"},
        {"count=\"1\"", "count=\"&what;\"", "found \"&what;\""},
        {"Intel\">", "Intel\">text", "dump.xml:3:55: expected an element, found text"},
        {"</system>", "", "Start-end tags mismatch"},
        {"</system>", "</system><a/>", "expected the end of the file"},
        {"</system>", "</system>a", "expected an element, found text"},
        {"<system version=\"1\">", "<!DOCTYPE a><system>", "dump.xml:2:11: expected an element"},
        {"<system version=\"1\">", "<?a b?><system>", "expected an element, found text, CDATA"},
        {"Intel\">", "Intel\"><![CDATA[a]]>", "expected an element, found text, CDATA"},
    }));
    const std::string text = changed(dgx1_xml(), from, to);
    CAPTURE(from, to);
    REQUIRE_FALSE(text.empty());
    CHECK_THROWS_WITH(sim::parse_nccl_topology(text, "dump.xml"), Catch::Contains(complaint));
    CHECK_THROWS_AS(sim::parse_nccl_topology(text, "dump.xml"), InputError);
}

TEST_CASE("imports: a dump without link rates has those that NCCL assumes", "[imports]") {
    const auto [rates, gb_per_s] = GENERATE(table<const char*, double>({
        {"link_speed=\"\" link_width=\"\"", 15.754},
        {"link_speed=\"\" link_width=\"0\"", 15.754},
        {"link_speed=\"Unknown\" link_width=\"255\"", 15.754},
        {"link_speed=\"32.0 GT/s PCIe\" link_width=\"0\"", 63.015},
        {"link_speed=\"32.0 GT/s PCIe\" link_width=\"255\"", 63.015},
    }));
    CAPTURE(rates);
    const std::string text =
        changed(nvswitch_xml(2), "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"", rates);
    const sim::Topology topology = sim::parse_nccl_topology(text, "dump.xml");
    CHECK(topology.link(sim::LinkId{0}).bandwidth.raw() == Approx(gb_per_s * 1e9).epsilon(1e-4));
    CHECK_THROWS_WITH(sim::parse_nccl_topology("<system version=\"1\"/>", "dump.xml"),
                      Catch::Contains("at least one <gpu>"));
    CHECK_THROWS_WITH(sim::parse_nccl_topology("<graphs/>", "dump.xml"),
                      Catch::Contains("expected <system>"));
}

TEST_CASE("imports: a broken matrix of nvidia-smi is refused with its line", "[imports]") {
    const auto [from, to, complaint] = GENERATE(table<const char*, const char*, const char*>({
        {"NV1", "NV0", "topo.txt:2:10: expected NV1 to NV18, found \"NV0\""},
        {"NV1", "NV2", "GPU0 to GPU1 is NV2, back it is NV1"},
        {"\tSYS", "\tSIS", "unknown relation \"SIS\" (did you mean \"SYS\"?)"},
        {"\t X ", "\tPIX", "expected X on the diagonal"},
        {"\nGPU1", "\nGPU7", "expected the row of \"GPU1\", found \"GPU7\""},
        {"GPU0", "GPUs", "expected a header that begins with GPU0"},
        {"mlx5_0\tPIX", "mlx5_0\tNV1", "back it is"},
        {"mlx5_3\tCPU", "mlx5_3\tmlx5_4\tCPU", "unknown relation \"0-19,40-59\""},
        {"\tSYS\tSYS\t0-19,40-59\t0", "", "\"GPU0\" has 10 cells, expected 12"},
        {"\nmlx5_3", "\nLegend:", "the header names 12 devices, found 11 rows"},
    }));
    const std::string text = changed(dgx1_smi(), from, to);
    CAPTURE(from, to);
    REQUIRE_FALSE(text.empty());
    CHECK_THROWS_WITH(sim::parse_smi_topology(text, "topo.txt"), Catch::Contains(complaint));
}

TEST_CASE("imports: nothing at all is refused", "[imports]") {
    CHECK_THROWS_AS(sim::parse_smi_topology("", "topo.txt"), InputError);
    CHECK_THROWS_AS(sim::parse_smi_topology("\n\n", "topo.txt"), InputError);
    CHECK_THROWS_AS(sim::parse_nccl_topology("", "dump.xml"), InputError);
    CHECK_THROWS_AS(sim::read_nccl_topology("no such file"), InputError);
    std::string deep;
    for (int i = 0; i < 100; ++i) deep = "<a>" + deep + "</a>";
    CHECK_THROWS_WITH(sim::XmlFile(deep, "dump.xml"),
                      Catch::Contains("dump.xml:1:193: more than 64 levels"));
    const std::string long_text(sim::xml_bytes_max + 1, ' ');
    CHECK_THROWS_WITH(sim::XmlFile(long_text, "dump.xml"),
                      Catch::Contains("more than 4194304 bytes"));
    const std::string_view cut("<a/>\0<b/>", 10);
    CHECK_THROWS_WITH(sim::XmlFile(cut, "dump.xml"), Catch::Contains("dump.xml:1:5: a zero byte"));
    CHECK_THROWS_WITH(sim::XmlFile("<a>\xff</a>", "dump.xml"),
                      Catch::Contains("dump.xml:1:4: expected UTF-8"));
}

TEST_CASE("imports: XML keeps order, places and entities", "[imports]") {
    const sim::XmlFile xml(
        "\xEF\xBB\xBF<!-- a --><a x='1 &lt; 2'>\n  <b y=\"&quot;\"/>\n<c/></a>\n<!-- b -->", "f");
    const pugi::xml_node root = xml.root();
    CHECK(root.attribute("x").value() == std::string_view("1 < 2"));
    CHECK_FALSE(root.attribute("z"));
    CHECK(root.child("b").attribute("y").value() == std::string_view("\""));
    CHECK(root.child("b").next_sibling() == root.child("c"));
    CHECK_THROWS_WITH(xml.refuse(root.child("b"), "no"), "f:2:3: no");
    CHECK_THROWS_WITH(xml.refuse(root.child("c"), "no"), "f:3:1: no");
}

}  // namespace ukemi
