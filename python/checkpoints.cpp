// checkpoints.cpp — checkpoint files and the hash of bytes, for workers in Python: those of the
// product's own workers.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "kernels/bit_hash.hpp"
#include "kernels/checkpoint_file.hpp"
#include "python/bindings.hpp"

namespace ukemi::python {

namespace {

using kernels::Checkpoint;

std::span<const std::byte> bytes_of(const py::buffer_info& info) {
    if (info.ndim != 1 || info.itemsize != 1) throw py::value_error("expected a row of bytes");
    return {static_cast<const std::byte*>(info.ptr), static_cast<std::size_t>(info.size)};
}

Checkpoint make_checkpoint(std::uint64_t job, std::int64_t step, std::int64_t position,
                           std::uint64_t plan_version, const py::buffer& state) {
    const py::buffer_info info = state.request();
    const std::span<const std::byte> bytes = bytes_of(info);
    if (bytes.size() > kernels::checkpoint_state_bytes_max) {
        throw py::value_error("a state of more than 8 GiB");
    }
    return {.job = job,
            .step = step,
            .position = position,
            .plan_version = plan_version,
            .state = {bytes.begin(), bytes.end()}};
}

std::int64_t write(const Checkpoint& checkpoint, const std::string& file) {
    const py::gil_scoped_release others;
    return kernels::write_checkpoint(file, checkpoint);
}

Checkpoint read(const std::string& file) {
    const py::gil_scoped_release others;
    return kernels::read_checkpoint(file);
}

py::bytes state_of(const Checkpoint& checkpoint) {
    return {reinterpret_cast<const char*>(checkpoint.state.data()), checkpoint.state.size()};
}

std::uint64_t bit_hash(const py::buffer& data) {
    const py::buffer_info info = data.request();
    kernels::BitHash hash;
    hash.add(bytes_of(info));
    return hash.value();
}

}  // namespace

void bind_checkpoints(py::module_& module) {
    py::class_<Checkpoint> type(
        module, "Checkpoint",
        "A job's progress, in files that are whole and checked, or not there.");
    type.attr("state_bytes_max") = kernels::checkpoint_state_bytes_max;
    type.def(py::init(&make_checkpoint), py::arg("job"), py::arg("step"), py::arg("position"),
             py::arg("plan_version"), py::arg("state"))
        .def_readonly("job", &Checkpoint::job)
        .def_readonly("step", &Checkpoint::step)
        .def_readonly("position", &Checkpoint::position)
        .def_readonly("plan_version", &Checkpoint::plan_version)
        .def_property_readonly("state", &state_of)
        .def("write", &write, py::arg("file"))
        .def_static("read", &read, py::arg("file"));
    module.def("bit_hash", &bit_hash, py::arg("data"));
}

}  // namespace ukemi::python
