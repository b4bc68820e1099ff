// kernel_writer FILE: the kernels of the sample programs and row programs as one C++ file for the
// emulator.
#include <fstream>
#include <string>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/row_kernel.hpp"
#include "compute/cuda/tile_plan.hpp"
#include "compute/prelude_text.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/compute/cuda/sample_rows.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ofstream file(argv[1]);
  file << "#include <cstring>\n#include \"tests/compute/cuda/emulator.hpp\"\n"
          "namespace forebay::test {\n"
       << forebay::compute::prelude_text();
  std::string table;
  const auto write = [&](const std::string& name, std::string source, const char* entry) {
    // The prelude stands once, in front of all.
    const std::string prelude = forebay::compute::prelude_for(source);
    source.erase(source.find(prelude), prelude.size());
    for (std::size_t at; (at = source.find("FB_NARROW_")) != std::string::npos;) {
      source.erase(at, source.find('\n', at) + 1 - at);
    }
    const std::string linkage = "extern \"C\" ";
    source.erase(source.find(linkage), linkage.size());
    file << "namespace kernel_" << name << " {\n"
         << source << "void thread(void* a) { " << entry
         << "(*static_cast<const Args*>(a)); }\n}\n";
    table +=
        "  {\"" + name + "\", kernel_" + name + "::thread, sizeof(kernel_" + name + "::Args)},\n";
  };
  for (const auto& [name, program] : forebay::test::sample_programs()) {
    write(name, forebay::cuda::generate_kernel(program), forebay::cuda::kernel_entry(program));
    if (!forebay::cuda::may_tile(program)) continue;
    const std::uint32_t staged = forebay::test::staged_sample(program);
    write(name + "_tiled", forebay::cuda::generate_kernel(program, staged),
          forebay::cuda::kernel_entry(program));
  }
  for (const forebay::test::NamedRows& rows : forebay::test::sample_rows()) {
    for (const unsigned steps : rows.steps) {
      write("rows_" + rows.name + "_" + std::to_string(steps),
            forebay::cuda::generate_row_kernel(rows.program, steps), forebay::cuda::kRowEntry);
    }
  }
  file << "const EmulatedKernel kKernels[] = {\n"
       << table << "};\n"
       << "const EmulatedKernel* emulated_kernel(const char* name) {\n"
          "  for (const EmulatedKernel& kernel : kKernels) {\n"
          "    if (std::strcmp(kernel.name, name) == 0) return &kernel;\n"
          "  }\n"
          "  return nullptr;\n"
          "}\n}\n";
  return file.flush() ? 0 : 1;
}
