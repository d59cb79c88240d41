// nic_choice_test.cpp — cards for storage stand in dumps, too; GPUs send by their own NICs.
#include "sim/cluster/nic_choice.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/cluster/nccl_topology.hpp"
#include "sim/cluster/smi_topology.hpp"
#include "tests/sim/cluster/dumps.hpp"

namespace ukemi {
namespace {

using sim::NicCard;
using sim::NicWay;

std::string card_xml(std::string_view bus, const std::vector<int>& port_mbit) {
    std::string text = fmt::format(
        "<pci busid=\"0000:{}:00.0\" class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" "
        "link_width=\"16\"><nic>",
        bus);
    for (std::size_t port = 0; port < port_mbit.size(); ++port) {
        text += fmt::format("<net name=\"mlx5_{}_{}\" dev=\"0\" speed=\"{}\" port=\"{}\"/>", bus,
                            port, port_mbit[port], port + 1);
    }
    return text + "</nic></pci>";
}

// Eight A100 in two sockets, each GPU and its NIC behind a switch; in the first socket `beside`.
std::string eight_xml(std::string_view beside) {
    std::string text = "<system version=\"1\">";
    for (int gpu = 0; gpu < 8; ++gpu) {
        if (gpu % 4 == 0) text += fmt::format("<cpu numaid=\"{}\" arch=\"x86_64\">", gpu / 4);
        text += fmt::format(
            "<pci busid=\"0000:1{}:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
            "link_width=\"16\"><pci busid=\"0000:2{}:00.0\" device=\"0x20b0\" "
            "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"{}\" sm=\"80\">"
            "<nvlink target=\"0000:c4:00.0\" count=\"12\" tclass=\"0x068000\"/></gpu></pci>",
            gpu, gpu, gpu);
        text += card_xml(fmt::format("3{}", gpu), {200'000}) + "</pci>";
        if (gpu == 3) text += beside;
        if (gpu % 4 == 3) text += "</cpu>";
    }
    return text + "</system>";
}

struct Read {
    std::size_t nics = 0;
    double gbit_per_s = 0;
    std::int64_t left = 0;
    bool operator==(const Read&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Read& read) {
    return out << read.nics << " of " << read.gbit_per_s << " Gbit/s, " << read.left << " left";
}
Read read_of(const sim::Topology& topology) {
    const sim::Machine& machine = topology.machines().front();
    return {topology.devices_of(sim::DeviceKind::nic).size(), machine.nic_gbit_per_s,
            machine.nic_ports_left};
}
Read read_xml(const std::string& text) {
    return read_of(sim::parse_nccl_topology(text, "dump.xml"));
}

}  // namespace

TEST_CASE("nic choice: cards for storage are none of the GPUs'", "[nic_choice]") {
    const auto [ports, left] = GENERATE(table<std::vector<int>, std::int64_t>({
        {{200'000}, 1},
        {{200'000, 100'000}, 2},
        {{200'000, 200'000}, 2},
        {{100'000, 100'000}, 2},
        {{400'000}, 1},
        {{25'000}, 1},
    }));
    CAPTURE(ports);
    CHECK(read_xml(eight_xml("")) == Read{8, 200, 0});
    CHECK(read_xml(eight_xml(card_xml("e1", ports))) == Read{8, 200, left});
    const std::string socket = "</cpu><cpu numaid=\"7\" arch=\"x86_64\">" + card_xml("e1", ports);
    CHECK(read_xml(eight_xml(socket)) == Read{8, 200, left});
}

TEST_CASE("nic choice: a slower port of a card is left out, an equal one is not", "[nic_choice]") {
    std::string text = eight_xml("");
    std::string more = text;
    for (std::size_t at = more.find("</nic>"); at != std::string::npos;
         at = more.find("</nic>", at + 60)) {
        more.insert(at, "<net name=\"b\" dev=\"1\" speed=\"25000\" port=\"2\"/>");
    }
    CHECK(read_xml(more) == Read{8, 200, 8});
    for (std::size_t at = more.find("\"25000\""); at != std::string::npos;
         at = more.find("\"25000\"")) {
        more.replace(at, 7, "\"200000\"");
    }
    CHECK(read_xml(more) == Read{8, 400, 0});
}

TEST_CASE("nic choice: of matrices those stay that are the nearest of a GPU", "[nic_choice]") {
    const std::string one = dgx1_smi();
    CHECK(read_of(sim::parse_smi_topology(one, "topo.txt")) == Read{4, 0, 0});
    // One more row, of which all say SYS; then one that the GPUs of the first socket are as near to
    // as to those that have a switch of theirs.
    const auto with = [&](std::string_view first_socket) {
        std::string text;
        std::size_t line = 0;
        for (std::size_t at = 0; line < 13; ++line) {
            const std::size_t end = one.find('\n', at);
            std::string row = one.substr(at, end - at);
            at = end + 1;
            const std::size_t cells = line == 0   ? row.find("CPU")
                                      : line <= 8 ? row.rfind('\t', row.rfind('\t') - 1)
                                                  : row.size();
            const bool near = line >= 1 && line <= 4;
            row.insert(cells, line == 0 ? std::string("storage\t")
                                        : fmt::format("\t{}", near ? first_socket : "SYS"));
            text += row + "\n";
        }
        text += "storage";
        for (int i = 0; i < 12; ++i) text += fmt::format("\t{}", i < 4 ? first_socket : "SYS");
        return text + "\tX\n";
    };
    CHECK(read_of(sim::parse_smi_topology(with("SYS"), "topo.txt")) == Read{4, 0, 1});
    CHECK(read_of(sim::parse_smi_topology(with("NODE"), "topo.txt")) == Read{4, 0, 1});
    CHECK(read_of(sim::parse_smi_topology(with("PXB"), "topo.txt")) == Read{4, 0, 1});
    CHECK(read_of(sim::parse_smi_topology(with("PIX"), "topo.txt")) == Read{5, 0, 0});
}

TEST_CASE("nic choice: where no GPU has a NIC at its socket all stay", "[nic_choice]") {
    const auto far = std::vector{NicWay::sockets, NicWay::sockets};
    const std::vector<NicCard> cards = {{{100}, far}, {{100}, far}, {{25}, far}};
    const sim::NicChoice choice = sim::chosen_nics(cards);
    CHECK(choice.kept == std::vector{true, true, false});
    CHECK(choice.mbit == 100);
    CHECK(choice.ports_left == 1);
    CHECK(sim::chosen_nics({}).mbit == 0);
}

TEST_CASE("nic choice: of rates that move as much those near to GPUs stay", "[nic_choice]") {
    const std::vector<NicWay> near = {NicWay::one_switch};
    const std::vector<NicWay> far = {NicWay::sockets};
    const auto mbit_of = [](const std::vector<NicCard>& cards) {
        return sim::chosen_nics(cards).mbit;
    };
    CHECK(mbit_of({{{200}, far}, {{100}, near}, {{100}, near}}) == 100);
    CHECK(mbit_of({{{200}, near}, {{100}, far}, {{100}, far}}) == 200);
    CHECK(mbit_of({{{200}, far}, {{100}, far}, {{100}, far}}) == 200);
    CHECK(mbit_of({{{400}, far}, {{100}, near}, {{100}, near}}) == 400);
}

TEST_CASE("nic choice: what is left out is said", "[nic_choice]") {
    CHECK(sim::words_of_ports_left(0).empty());
    CHECK(sim::words_of_ports_left(1) == ", 1 port of NICs left out");
    CHECK(sim::words_of_ports_left(2) == ", 2 ports of NICs left out");
}
}  // namespace ukemi
