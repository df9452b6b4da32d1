//! The options: what is understood can be written and is then understood the same.

use tfrc_dccp::wire::{self, OptionList, PacketType};

/// The first byte is the packet's type, the rest its options.
pub fn check(data: &[u8]) {
    let Some((first, space)) = data.split_first() else { return };
    let Some(kind) = PacketType::from_wire(first & 0x0F) else { return };
    let mut walk = wire::options(kind, space);
    let mut count = 0;
    for item in walk.by_ref() {
        count += 1;
        assert!(count <= space.len(), "more options than bytes");
        let Ok(item) = item else { continue };
        let Ok(option) = item.option else { continue };
        let mut list = OptionList::new(OptionList::MAX);
        let pushed = if item.mandatory { list.push_mandatory(&option) } else { list.push(&option) };
        if pushed.is_ok() {
            let again = wire::options(kind, list.padded()).next().expect("it is there").expect("placed");
            assert_eq!(again.mandatory, item.mandatory);
            assert_eq!(format!("{:?}", again.option), format!("{:?}", Ok::<_, ()>(option)));
        }
    }
    let _ = std::hint::black_box(walk.error());
}
