// Jupyter notebooks (nbformat 3 and 4): the cells' Python as one module, their commands as shell, and edits that change
// exactly the bytes of the JSON that hold them. Outputs and metadata are not touched.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/file.h"

namespace updraft::migrate::text {

std::vector<Finding> notebook(std::string_view json, const PythonFindings& python, int depth = 0);

// What IPython adds to Python: cell magics, line magics, shell lines, questions. They are masked by Python of the same
// length, so that a parser of Python sees valid code and every offset stays.

struct CellMagic {
  std::string_view name;       ///< without %%; empty: the cell has none
  std::string_view arguments;  ///< of its line
  std::size_t body = 0;        ///< where the line after it begins
};
CellMagic cell_magic(std::string_view cell);

/// Is the rest of the cell Python that runs with the other cells (%%time, %%capture …)?
bool keeps_python(std::string_view magic);

/// A command that IPython hands on: where it stands in the cell.
struct MagicLine {
  enum class Kind : std::uint8_t {
    Shell,     ///< !command, %pip install, %run train.py
    Read,      ///< name = !command, whose output the cell goes on with
    Variable,  ///< %env NAME=value or NAME value: begin is at NAME
    Other
  };
  Kind kind;
  std::size_t begin, end;
};

/// Masks the cell in place, and says what the masked lines were.
std::vector<MagicLine> mask(char* cell, std::size_t size);

}  // namespace updraft::migrate::text
