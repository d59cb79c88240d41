// topology_test.cpp — the picture of a machine, as the numbers that it draws.
#include <catch2/catch.hpp>

#include "plots/figures.hpp"
#include "tests/plots/without_gnuplot.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

// Two GPUs with two NVLinks, each on the one socket; a NIC on a switch.
plots::TopologyInput small_box() {
    plots::TopologyInput box;
    box.title = "a `box`";
    box.devices = {{"cpu", "cpu0", 0},
                   {"gpu", "gpu0", 0},
                   {"gpu", "gpu1", 0},
                   {"nic", "nic0", 0},
                   {"network_switch", "switch", -1}};
    box.cables = {{1, 0, "pcie", 1, 15.75},
                  {2, 0, "pcie", 1, 15.75},
                  {1, 2, "nvlink", 2, 50},
                  {3, 0, "pcie", 1, 15.75},
                  {3, 4, "network", 1, 12.5}};
    return box;
}

std::size_t lines_with(const std::string& text, std::string_view what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++count;
    }
    return count;
}

}  // namespace

TEST_CASE("topology figure: devices in rows, the network above", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.topology = small_box();
    const plots::FigureResult result =
        plots::draw_topology(input, folder.path(), without_gnuplot());
    CHECK(result.skipped);
    CHECK(folder.text_of("topology_devices.csv") ==
          "kind,x,y,name\n"
          "cpu,0.5,2,cpu0\n"
          "gpu,0.25,0,gpu0\n"
          "gpu,0.75,0,gpu1\n"
          "nic,0.5,3,nic0\n"
          "network_switch,0.5,4,switch\n");
    const std::string cables = folder.text_of("topology_cables.csv");
    CHECK(lines_with(cables, ",pcie,") == 3);
    CHECK(lines_with(cables, ",nvlink,gpu0,gpu1") == 24);  // an arc
    const std::string script = folder.text_of("topology.gp");
    CHECK(script.find("title 'NVLink, 2 x 25 GB/s'") != std::string::npos);
    CHECK(script.find("title 'network, 12.5 GB/s'") != std::string::npos);
}

TEST_CASE("topology figure: of many machines, each is one dot", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.topology = plots::TopologyInput{};
    for (int machine = 0; machine < 8; ++machine) {
        input.topology->devices.push_back({"gpu", "gpu0", machine});
        input.topology->devices.push_back({"nic", "nic0", machine});
    }
    input.topology->devices.push_back({"network_switch", "switch", -1});
    for (int machine = 0; machine < 8; ++machine) {
        input.topology->cables.push_back({2 * machine, 2 * machine + 1, "pcie", 1, 10});
        input.topology->cables.push_back({2 * machine + 1, 16, "network", 1, 1});
    }
    plots::draw_topology(input, folder.path(), without_gnuplot());
    const std::string devices = folder.text_of("topology_devices.csv");
    CHECK(lines_with(devices, "machine,") == 8);
    CHECK(lines_with(devices, "gpu") == 0);
    const std::string cables = folder.text_of("topology_cables.csv");
    CHECK(lines_with(cables, ",network,") == 8);
    CHECK(lines_with(cables, ",pcie,") == 0);
}

TEST_CASE("topology figure: gnuplot draws it", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.topology = small_box();
    const plots::FigureResult result = plots::draw_topology(input, folder.path());
    if (result.skipped) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    CHECK(result.problem.empty());
    CHECK(result.files.size() == 5);
}

TEST_CASE("topology figure: what cannot be drawn is said", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    CHECK(plots::draw_topology(input, folder.path()).problem == "topology: there is none");
    input.topology = plots::TopologyInput{};
    CHECK(plots::draw_topology(input, folder.path()).problem == "topology: there is no device");
    input.topology = small_box();
    input.topology->cables.push_back({0, 9, "pcie", 1, 1});
    CHECK(plots::draw_topology(input, folder.path()).problem == "topology: a cable ends nowhere");
    input.topology->cables.back() = {0, 1, "pcie", 1, 0};
    CHECK(plots::draw_topology(input, folder.path()).problem ==
          "topology: a cable has no bandwidth");
}

}  // namespace ukemi
